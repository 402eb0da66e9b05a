import {
  nameStatement,
  type PostgresClient,
  type PostgresRow,
  WAIT_FOR_DISK,
} from '../../databases/postgres/client.js';
import type { OrderStatus } from '../cancellation.js';
import type { OrderId } from '../order.js';
import { type Attempt, createGroupedChange } from './group.js';
import { type OrderTable, quoteText } from './table.js';

/** Stands for all of the embedding program's own statuses, which this service treats alike. */
const OTHER_STATUS: OrderStatus = 'other';

/**
 * How many milliseconds a statement waits for a lock. Because it skips locked orders, only a
 * trigger or rule of the table can make it wait.
 */
const LOCK_MS = 100;

/** How a statement that changes orders begins, also in `pg_stat_activity`. */
export const CHANGE = 'WITH asked';

/**
 * Creates a function that changes the status of an order to `next`. `decide` receives the present
 * status and returns the outcome. The status changes only if the outcome equals `next`. Concurrent
 * calls share one statement.
 */
export function createTransition<Outcome extends string>(
  client: PostgresClient,
  table: OrderTable,
  next: Outcome & OrderStatus,
  decide: (status: OrderStatus | undefined) => Outcome,
): (id: OrderId) => Promise<Outcome> {
  const { statuses } = table;
  const texts = [...statuses.keys()];
  const from = texts.filter((text) => decide(statuses.get(text)) === next).map(quoteText);
  const to = texts.find((text) => statuses.get(text) === next) ?? next;
  const forOne = nameStatement(statementFor('$1::text::int8', table, from, quoteText(to)));
  // Not prepared: a plan made for a small table would read the whole table after it has grown.
  const forSeveral = statementFor('unnest($1::text::int8[])', table, from, quoteText(to));

  /** Reads the reply about one order. `row` is `undefined` if the order does not exist. */
  function readAttempt(id: OrderId, row: PostgresRow | undefined): Attempt<Outcome> {
    if (row?.['found'] === '0') return 'locked';
    const text = row?.['status'];
    const known = typeof text === 'string' ? statuses.get(text) : undefined;
    const outcome = decide(row && (known ?? OTHER_STATUS));
    if ((outcome === next) !== (row?.['changed'] === '1')) {
      return new Error(`order ${id}: its status did not change; does a trigger or a policy of its table prevent that?`);
    }
    return outcome;
  }

  return createGroupedChange<Outcome>(async (ids) => {
    const statement = ids.length === 1 ? { ...forOne, values: [`${ids}`] } : { text: forSeveral, values: [`{${ids}}`] };
    const { rows } = await client.query(statement);
    const rowsById = new Map(rows.map((row) => [String(row['id']), row]));
    return (id) => {
      const attempt = readAttempt(id, rowsById.get(`${id}`));
      // If the group has another call for this order, that call finds the new status.
      if (attempt === next) rowsById.set(`${id}`, { status: to });
      return attempt;
    };
  });
}

/**
 * Returns a statement that locks the rows of the given ids in their sequence, reads their statuses
 * and changes them. It returns a row for each order that exists. The row's `found` is '0' if another
 * transaction has locked the order, otherwise '1'.
 *
 * An UPDATE with the status in its condition would be simpler. But if it changed no row, the reason
 * would come from its snapshot, in which an order that has just shipped may still be pending.
 */
function statementFor(ids: string, { table, id, status }: OrderTable, from: readonly string[], to: string): string {
  return `${CHANGE} AS MATERIALIZED (
      SELECT id FROM (SELECT ${ids} AS id) AS given WHERE set_config('lock_timeout', '${LOCK_MS}', true) <> ''),
    found AS (
      SELECT asked.id AS asked, o.id, o.status FROM asked CROSS JOIN LATERAL (
        SELECT o.${id} AS id, o.${status}::text AS status FROM ${table} AS o WHERE o.${id} = asked.id
        FOR NO KEY UPDATE SKIP LOCKED) AS o),
    changed AS (
      UPDATE ${table} AS o SET ${status} = ${to} FROM found
      WHERE o.${id} = found.id AND found.status IN (${from}) RETURNING o.${id} AS id)
    SELECT found.asked::text AS id, '1' AS found, found.status,
      CASE WHEN changed.id IS NULL THEN '0' ELSE '1' END AS changed, ${WAIT_FOR_DISK}
    FROM found LEFT JOIN changed ON changed.id = found.id
    UNION ALL
    SELECT asked.id::text, '0', NULL, '0', NULL FROM asked
    WHERE asked.id NOT IN (SELECT asked FROM found) AND EXISTS (SELECT FROM ${table} AS o WHERE o.${id} = asked.id)`;
}
