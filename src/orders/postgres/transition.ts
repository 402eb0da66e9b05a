import { type PostgresClient, WAIT_FOR_DISK } from '../../databases/postgres/client.js';
import { quoteText } from '../../databases/postgres/quote.js';
import type { OrderStatus } from '../cancellation.js';
import type { OrderId } from '../order.js';
import type { OrderTable } from './table.js';

/** Stands for every status that is not ours. */
const FOREIGN: OrderStatus = 'foreign';

/**
 * Makes a transition to the status `next`, in one statement: `decide` gives the outcome for the status found, which is
 * `next` where the order is to be changed.
 *
 * The row is locked before it is looked at. An UPDATE with the status in its condition would do with less, but what to
 * answer when it changes nothing could then only be read from the statement's snapshot, which under READ COMMITTED may
 * be older than the change that it lost against: 'pending', of an order that has just shipped.
 */
export function createTransition<Outcome extends string>(
  client: PostgresClient,
  { table, id, status, statuses }: OrderTable,
  next: Outcome & OrderStatus,
  decide: (status: OrderStatus | undefined) => Outcome,
): (id: OrderId) => Promise<Outcome> {
  const texts = [...statuses.keys()];
  const from = texts.filter((text) => decide(statuses.get(text)) === next).map(quoteText);
  const to = quoteText(texts.find((text) => statuses.get(text) === next) ?? next);
  const statement = `WITH found AS (
      SELECT o.${id} AS id, o.${status}::text AS status FROM ${table} AS o WHERE o.${id} = $1::text::int8
      FOR NO KEY UPDATE),
    changed AS (
      UPDATE ${table} AS o SET ${status} = ${to} FROM found
      WHERE o.${id} = found.id AND found.status IN (${from}) RETURNING 1)
    SELECT status, (SELECT count(*) FROM changed)::text AS changed, ${WAIT_FOR_DISK} FROM found`;

  return async (id) => {
    const [row] = (await client.query(statement, [`${id}`])).rows;
    if (row === undefined) return decide(undefined);
    const text = row['status'];
    const outcome = decide((typeof text === 'string' ? statuses.get(text) : undefined) ?? FOREIGN);
    if ((outcome === next) !== (row['changed'] === '1')) {
      throw new Error(`order ${id}: its status did not change; does a trigger or a policy of its table prevent that?`);
    }
    return outcome;
  };
}
