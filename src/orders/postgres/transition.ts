import { type PostgresClient, type PostgresRow, queryOften, WAIT_FOR_DISK } from '../../databases/postgres/client.js';
import { quoteText } from '../../databases/postgres/quote.js';
import type { OrderStatus } from '../cancellation.js';
import type { OrderId } from '../order.js';
import { type Attempt, createGroups } from './group.js';
import type { OrderTable } from './table.js';

/** Stands for all of the embedding program's own statuses, which this service treats alike. */
const OTHER_STATUS: OrderStatus = 'other';

/**
 * How many milliseconds a statement waits for a lock. It skips locked orders, so only a trigger or
 * rule of the table can make it wait.
 */
const LOCK_MS = 100;
const SET_LOCK_TIMEOUT = `set_config('lock_timeout', '${LOCK_MS}', true) <> ''`;

/**
 * Creates a function that changes the status of an order to `next`. `decide` receives the present
 * status and returns the outcome. The status changes only if the outcome equals `next`. Concurrent
 * calls share one statement.
 *
 * The statement locks the row before it reads the status. An UPDATE with the status in its
 * condition would be simpler. But if the UPDATE changed no row, the outcome would come from the
 * statement's snapshot. Under READ COMMITTED, the snapshot may be outdated: it may show an order as
 * pending that has just been shipped.
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
  const one = statementForOne(table, from, quoteText(to));
  const several = statementForSeveral(table, from, quoteText(to));

  /** Reads the reply about one order. It has no row if the order does not exist. */
  function read(id: OrderId, row: PostgresRow | undefined): Attempt<Outcome> {
    if (row?.['found'] === '0') return 'locked';
    const text = row?.['status'];
    const known = typeof text === 'string' ? statuses.get(text) : undefined;
    const outcome = decide(row && (known ?? OTHER_STATUS));
    if ((outcome === next) !== (row?.['changed'] === '1')) {
      throw new Error(`order ${id}: its status did not change; does a trigger or a policy of its table prevent that?`);
    }
    return { outcome };
  }

  return createGroups<Outcome>({
    one: async (id) => read(id, (await queryOften(client, one, [`${id}`])).rows[0]),

    async several(ids) {
      // This statement is not prepared, because a plan made for a small table would read the whole
      // table even after the table has grown.
      const { rows } = await client.query(several, [`{${ids.join(',')}}`]);
      const found = new Map(rows.map((row) => [String(row['id']), row]));
      return (id) => {
        const attempt = read(id, found.get(`${id}`));
        // If the group has another call for this order, that call finds the new status.
        if (attempt !== 'locked' && attempt.outcome === next) found.set(`${id}`, { status: to });
        return attempt;
      };
    },
  });
}

// Both statements return a row for each order that exists. Its `found` is '0' if another transaction
// has locked the order, otherwise '1'.

function statementForOne({ table, id, status }: OrderTable, from: readonly string[], to: string): string {
  return `WITH found AS (
      SELECT o.${id} AS id, o.${status}::text AS status FROM ${table} AS o WHERE o.${id} = $1::text::int8
      FOR NO KEY UPDATE SKIP LOCKED),
    changed AS (
      UPDATE ${table} AS o SET ${status} = ${to} FROM found
      WHERE o.${id} = found.id AND found.status IN (${from}) AND ${SET_LOCK_TIMEOUT} RETURNING 1)
    SELECT '1' AS found, status, (SELECT count(*) FROM changed)::text AS changed, ${WAIT_FOR_DISK} FROM found
    UNION ALL
    SELECT '0', NULL, '0', NULL WHERE NOT EXISTS (SELECT FROM found)
      AND EXISTS (SELECT FROM ${table} AS o WHERE o.${id} = $1::text::int8)`;
}

/** Locks the rows in the sequence of the given ids, which is ascending. */
function statementForSeveral({ table, id, status }: OrderTable, from: readonly string[], to: string): string {
  return `WITH asked AS MATERIALIZED (
      SELECT id FROM unnest(CASE WHEN ${SET_LOCK_TIMEOUT} THEN $1::text::int8[] END) AS id),
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
