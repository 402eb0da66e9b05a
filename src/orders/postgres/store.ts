import { checkPool, type PostgresPool, queryOften } from '../../databases/postgres/client.js';
import { migrateTables } from '../../databases/postgres/migration.js';
import { type CancelOutcome, cancelOutcome, type ShipOutcome, shipOutcome } from '../cancellation.js';
import { parseJson } from '../json.js';
import type { OrderId } from '../order.js';
import { type OrderInput, type OrderRecord, toOrderRecord } from '../record.js';
import type { ListedOrders, OrderStore, OwnedOrderStore, PutOptions, PutOutcome } from '../store.js';
import { createLister } from './list.js';
import { ORDERS_SCHEMA, OWN_TABLE } from './own-table.js';
import { putRecords } from './put.js';
import { type OrderTable, type PostgresOrderTable, readOrder, readTable } from './table.js';
import { createTransition } from './transition.js';

/** {@link OwnedOrderStore} in a PostgreSQL database: what was answered is on its disk. */
export interface PostgresOrderStore extends OwnedOrderStore {
  /**
   * Makes the table, or brings it to its newest version; to be awaited before anything else. May be called by any number
   * of processes at once, and needs no right to make tables when there is nothing to make.
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
 * The store over a table of its own, `store_orders`, in the schema that is first in the
 * connections' `search_path`. Any number of processes may share it. The pool stays the caller's: it
 * closes it, and listens for its `error` events, by which `pg` tells of idle connections that end.
 * Throws a TypeError if it is no pool.
 *
 * Every method is one statement and one round trip, which cancels that come at the same time share,
 * but for `list` when there are 2,000 orders or more: those are read from one snapshot, on a
 * connection that is held until the client has read them or hung up. Long lists hold four
 * connections of the pool at most. While others wait for one, a client that takes less than about
 * 1 MB a second may have its list ended.
 *
 * A statement whose answer is lost is never sent again, because it may have been carried out: the
 * call rejects. A server that does not answer at all is for the pool to give up on:
 * `connectionTimeoutMillis`, `statement_timeout` and `query_timeout` of `pg`.
 * `synchronous_commit=off` is overruled for every write; the server's `fsync` cannot be.
 */
export function createPostgresOrderStore(pool: PostgresPool): PostgresOrderStore {
  checkPool(pool);
  const own = readTable(OWN_TABLE);
  const selectOne = `SELECT ${own.json} AS json, status FROM ${own.table} AS o WHERE id = $1::text::int8`;
  return {
    ...storeOver(pool, own),
    migrate: () => migrateTables(pool, ORDERS_SCHEMA),
    ship: createTransition(pool, own, 'shipped', shipOutcome),
    put: async (orders, { replace = false } = {}) => putRecords(pool, Array.from(orders, toOrderRecord), replace),

    async get(id) {
      const [row] = (await queryOften(pool, selectOne, [`${id}`])).rows;
      return row && { ...readOrder(Object(parseJson(String(row['json'])))), status: String(row['status']) };
    },

    async close() {},
  };
}

/**
 * The store over a table of the host, which makes and fills it. What else a cancel is to do there
 * belongs into a trigger, which is a part of the same statement; one FOR EACH STATEMENT sees all
 * orders that are cancelled together. In all else as {@link createPostgresOrderStore}. Throws a
 * TypeError that names the option if one cannot be right; what the database does not know is a
 * rejection of `list` and `cancel`.
 */
export function createMappedOrderStore(pool: PostgresPool, table: PostgresOrderTable): OrderStore {
  checkPool(pool);
  return storeOver(pool, readTable(table));
}

function storeOver(pool: PostgresPool, table: OrderTable) {
  return { list: createLister(pool, table), cancel: createTransition(pool, table, 'cancelled', cancelOutcome) };
}
