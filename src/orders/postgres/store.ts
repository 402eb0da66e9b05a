import { checkMethods } from '../../check.js';
import { nameStatement, type PostgresPool } from '../../databases/postgres/client.js';
import { migrateTables } from '../../databases/postgres/migration.js';
import { type CancelOutcome, cancelOutcome, type ShipOutcome, shipOutcome } from '../cancellation.js';
import { parseJson } from '../json.js';
import type { OrderId } from '../order.js';
import { type OrderInput, type OrderRecord, toOrderRecords } from '../record.js';
import {
  isReplacing,
  type ListedOrders,
  type OrderStore,
  type OwnedOrderStore,
  type PutOptions,
  type PutOutcome,
} from '../store.js';
import { createTableLister } from './list.js';
import { putRecords } from './put.js';
import { ORDERS_SCHEMA, type OrderTable, OWN_TABLE, type PostgresOrderTable, readOrder, readTable } from './table.js';
import { createTransition } from './transition.js';

/**
 * An {@link OwnedOrderStore} in a PostgreSQL database. A change is on the server's disk before the
 * store reports it as done.
 */
export interface PostgresOrderStore extends OwnedOrderStore {
  /**
   * Creates the table, or migrates it to its newest version. Await this before any other call.
   * Several processes can call it at the same time. The right to create tables is needed only if
   * there is something to create.
   */
  migrate(): Promise<void>;
  list(): Promise<ListedOrders>;
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): Promise<OrderRecord | undefined>;
  ship(id: OrderId): Promise<ShipOutcome>;
  close(): Promise<void>;
}

/**
 * Creates an order store over a table of its own, `store_orders`, in the first schema of the
 * connections' `search_path`. Any number of processes may share the table. The caller closes the
 * pool, and listens for its `error` events, with which `pg` reports that an idle connection has
 * ended. Throws a TypeError if `pool` is not a pool.
 *
 * Every method is one statement and one round trip, except a `put` that finds an id taken, and a
 * `list` of 2,000 orders or more. Concurrent cancels share a statement, and so do concurrent lists.
 * A long list is read from one snapshot, on a connection that is held until the client has read the
 * list or hung up. Long lists hold at most four connections of the pool. A further list fails if
 * none of the four is free within 5 s. A cancel fails if another transaction keeps its order locked
 * for 5 s.
 *
 * Frequent statements have names, so `pg` prepares them. Behind a pooler that does not support this,
 * pass an object whose `query` omits the name.
 *
 * A statement whose reply is lost is never sent again, because it may have run: the call rejects.
 * For a server that does not respond at all, set timeouts on the pool: `connectionTimeoutMillis`,
 * `statement_timeout` and `query_timeout` of `pg`. Every write overrides `synchronous_commit=off`.
 * The server's `fsync` setting cannot be overridden.
 */
export function createPostgresOrderStore(pool: PostgresPool): PostgresOrderStore {
  checkMethods('pool', pool, ['query']);
  const selectOne = nameStatement(
    `SELECT ${OWN_TABLE.json} AS json, status FROM store_orders AS o WHERE id = $1::text::int8`,
  );
  return {
    ...createTableStore(pool, OWN_TABLE),
    migrate: () => migrateTables(pool, ORDERS_SCHEMA, { creates: true, upgrades: true }),
    ship: createTransition(pool, OWN_TABLE, 'shipped', shipOutcome),
    put: async (orders, options) => putRecords(pool, toOrderRecords(orders), isReplacing(options)),

    async get(id) {
      const [row] = (await pool.query({ ...selectOne, values: [`${id}`] })).rows;
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
 */
export function createMappedOrderStore(pool: PostgresPool, table: PostgresOrderTable): OrderStore {
  checkMethods('pool', pool, ['query']);
  return createTableStore(pool, readTable(table));
}

function createTableStore(pool: PostgresPool, table: OrderTable) {
  return { list: createTableLister(pool, table), cancel: createTransition(pool, table, 'cancelled', cancelOutcome) };
}
