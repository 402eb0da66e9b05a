import { checkMethods } from '../../check.js';
import {
  nameStatement,
  type PostgresClient,
  type PostgresPool,
  withUnnamedFallback,
} from '../../databases/postgres/client.js';
import { migrateTables } from '../../databases/postgres/migration.js';
import { cancelOutcome, shipOutcome } from '../cancellation.js';
import { parseJson } from '../json.js';
import { toOrderRecords } from '../record.js';
import { isReplacing, type OrderStore, type SharedOrderStore } from '../store.js';
import { createTableList } from './list.js';
import { ORDERS_SCHEMA, OWN_TABLE } from './own-table.js';
import { putRecords } from './put.js';
import { restoreRevision, warnOfLostRevision } from './revision.js';
import { type PostgresOrderTable, readOrder, readTable } from './table.js';
import { withCheck } from './table-check.js';
import { createTransition } from './transition.js';

/**
 * A {@link SharedOrderStore} in a PostgreSQL database. A change is on the server's disk before the
 * store reports it as done.
 */
export interface PostgresOrderStore extends SharedOrderStore {
  /**
   * Creates the table, or migrates it to its newest version, and restores its trigger if the trigger
   * was lost. Await this before any other call. Several processes can call it at the same time: each
   * waits for the others for up to 30 s, or for the `lock_timeout` of its connections. The lock, and
   * the right to create tables, are needed only if there is something to create.
   */
  migrate(): Promise<void>;
}

/**
 * Creates an order store over a table of its own, `store_orders`, in the first schema of the
 * connections' `search_path`. Any number of processes may share the table. The caller closes the
 * pool, and listens for its `error` events, with which `pg` reports that an idle connection has
 * ended. Throws a TypeError if `pool` is not a pool.
 *
 * Every method is one statement and one round trip, except a `put` that finds an id taken, and a
 * `list` within a tenth of a second of the previous one, which sends none. Concurrent cancels share
 * a statement. The pages of a list are read only after a change, from one snapshot, on a connection
 * that is held meanwhile. A cancel fails if another transaction keeps its order locked for 5 s.
 *
 * Frequent statements have names, so `pg` prepares them. Behind a pooler that does not support this,
 * statements are sent without names from the first failure on, and a process warning is emitted.
 *
 * A statement whose reply is lost is never sent again, because it may have run: the call rejects.
 * For a server that does not respond at all, set timeouts on the pool: `connectionTimeoutMillis`,
 * `statement_timeout` and `query_timeout` of `pg`. Every write overrides `synchronous_commit=off`.
 * The server's `fsync` setting cannot be overridden.
 */
export function createPostgresOrderStore(pool: PostgresPool): PostgresOrderStore {
  checkMethods('pool', pool, ['query']);
  return createOwnStore(withUnnamedFallback(pool));
}

/** Creates the store whose cancels and shipments are sent to `changes`. */
export function createOwnStore(database: PostgresPool, changes: PostgresClient = database): PostgresOrderStore {
  const { list, noteChange } = createTableList(database, OWN_TABLE, warnOfLostRevision());
  const selectOne = nameStatement(
    `SELECT ${OWN_TABLE.json} AS json, status FROM store_orders AS o WHERE id = $1::text::int8`,
  );
  return {
    list,
    cancel: createTransition(changes, OWN_TABLE, 'cancelled', cancelOutcome),
    ship: createTransition(changes, OWN_TABLE, 'shipped', shipOutcome),
    async migrate() {
      await migrateTables(database, ORDERS_SCHEMA, { creates: true, upgrades: true });
      await restoreRevision(database);
    },

    put: async (orders, options) =>
      putRecords(database, toOrderRecords(orders), isReplacing(options)).finally(noteChange),

    async get(id) {
      const [row] = (await database.query({ ...selectOne, values: [`${id}`] })).rows;
      return row && { ...readOrder(Object(parseJson(String(row['json'])))), status: String(row['status']) };
    },

    async close() {},
  };
}

/**
 * Creates an order store over a table that the embedding program creates and fills. Further effects
 * of a cancel belong in a trigger, which runs as part of the same statement. A FOR EACH STATEMENT
 * trigger sees all orders that are cancelled together. Otherwise the store works like {@link
 * createPostgresOrderStore}. Throws a TypeError that names an invalid option. If the database lacks
 * a table or column, `list` and `cancel` reject.
 *
 * Without the option `revision`, a list of 2,000 orders or more is read for each client, without an
 * ETag, on a connection that is held until the client has read the list or hung up. Such lists hold
 * at most four connections of the pool, so give it more. While a further one waits, the list of the
 * slowest client is read into memory, or cut off if that would take more than 32 MB. It fails after
 * 5 s of waiting.
 *
 * Concurrent cancels and the `revision` are sent in the asynchronous context in which the store was
 * created, and other statements in that of their request. So if the pool finds the tenant in an
 * AsyncLocalStorage, for example for row-level security, create a store for each, in its context.
 */
export function createMappedOrderStore(pool: PostgresPool, table: PostgresOrderTable): OrderStore {
  checkMethods('pool', pool, ['query']);
  const mapped = readTable(table);
  const database = withCheck(withUnnamedFallback(pool), mapped);
  return {
    list: createTableList(database, mapped).list,
    cancel: createTransition(database, mapped, 'cancelled', cancelOutcome),
  };
}
