import { AsyncResource } from 'node:async_hooks';
import { codeOf, type PostgresPool } from '../../databases/postgres/client.js';
import { messageOf } from '../../message-of.js';
import { typeOf } from './fields.js';
import type { OrderTable } from './table.js';

/** The types that can hold an int64 exactly, or some of them. */
const ID_TYPES: readonly unknown[] = ['smallint', 'integer', 'bigint', 'numeric'];

/**
 * Returns a pool that checks the embedding program's table before its first query: whether the ids
 * are exact, and whether the `revision` is a query of one value. If not, each query rejects. All
 * callers share a check, so it runs in the context in which the pool was created.
 */
export function withCheck(pool: PostgresPool, table: OrderTable): PostgresPool {
  const check = AsyncResource.bind(() => checkTable(pool, table));
  let checked: Promise<void> | undefined;
  return {
    ...pool,

    async query(statement) {
      checked ??= check().catch((error) => {
        checked = undefined;
        throw error;
      });
      await checked;
      return pool.query(statement);
    },
  };
}

async function checkTable(pool: PostgresPool, { table, id, revision }: OrderTable): Promise<void> {
  const text = `SELECT ${typeOf(`(SELECT o.${id} FROM ${table} AS o LIMIT 0)`)}::text AS type`;
  const type = (await pool.query({ text })).rows[0]?.['type'];
  if (!ID_TYPES.includes(type)) {
    throw new Error(`columns.id: ${table} has ids of the type ${type}; expected one of ${ID_TYPES.join(', ')}`);
  }
  if (revision === undefined) return;
  await pool.query({ text: revision }).catch((error) => {
    if (!/^(?:21|42)/.test(codeOf(error))) throw error;
    const advice = 'expected an SQL query of one value, without a semicolon at its end';
    throw new Error(`revision: ${advice}: ${messageOf(error)}`, { cause: error });
  });
}
