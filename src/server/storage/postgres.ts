import type { Client, ClientConfig, Pool } from 'pg';
import { causeOf, failureOf } from '../../databases/postgres/failure.js';
import { migrateTables } from '../../databases/postgres/migration.js';
import { withNamedStatements } from '../../databases/postgres/named-statements.js';
import { importRecords } from '../../orders/postgres/import.js';
import { createPostgresOrderStore, type PostgresOrderStore } from '../../orders/postgres/index.js';
import { ORDERS_SCHEMA } from '../../orders/postgres/own-table.js';
import { readRecords } from '../../orders/postgres/records.js';
import type { KeyRing } from '../keys/key-ring.js';
import { createPostgresKeyRing, KEYS_SCHEMA } from '../keys/postgres.js';
import type { OpenOutcome, Storage } from './storage.js';

export interface PostgresStorageOptions {
  /** Make missing tables; otherwise that is a mistake, so that the wrong database does not look like an empty store. */
  readonly create?: boolean;
  /** Give up on statements that take long: for a process whose clients wait. */
  readonly impatient?: boolean;
}

const CONNECTIONS = 8;
const KEY_CONNECTIONS = 2;
/**
 * Strangers have the keys that they make up looked for, which must not take what keys that are
 * known need.
 */
const STRANGER_CONNECTIONS = 2;
/**
 * As many as long lists hold at most, until their clients have read them: none that cancels and
 * keys need.
 */
const LIST_CONNECTIONS = 4;
const CONNECT_MS = 2_000;
const STATEMENT_MS = 5_000;
/** The server is to give up first: its answer says more, and it has then ended what it did. */
const ANSWER_MS = STATEMENT_MS + 1_000;
const PROBE_MS = 2_000;

/**
 * Opens a PostgreSQL database of this program, its tables brought to their newest version; any number of processes may
 * do so at once. The caller closes it. The URL is checked already; nothing of it is shown but host, port and database.
 */
export async function openPostgresStorage(url: string, options: PostgresStorageOptions = {}): Promise<OpenOutcome> {
  const driver = await loadDriver();
  if (driver === undefined) {
    return { ok: false, message: 'PostgreSQL needs a driver that is not installed: npm install pg' };
  }
  const config: ClientConfig = {
    connectionString: url,
    application_name: 'store-orders',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  };
  let name = 'of this URL';
  try {
    name = nameOf(new driver.Client(config));
    const refusal = await prepareTables(driver, config, options);
    if (refusal !== undefined) return { ok: false, message: `${name}: ${refusal}` };
    return { ok: true, data: storageOf(driver, config, name, options) };
  } catch (error) {
    return { ok: false, message: `cannot open the database ${name}: ${causeOf(error)}` };
  }
}

type Driver = Pick<typeof import('pg'), 'Client' | 'Pool'>;

/** Optional: who keeps orders in a file needs none. */
async function loadDriver(): Promise<Driver | undefined> {
  try {
    return (await import('pg')).default;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** A URL again, without user, password and parameters; the directory of a socket as its host. */
function nameOf({ host, port, database }: Client): string {
  const shownHost = host.includes(':') ? `[${host}]` : encodeURIComponent(host);
  return `postgres://${shownHost}:${port}/${encodeURIComponent(database ?? '')}`;
}

/** Why there is nothing to work on, `undefined` when the tables are there. However long it takes to make them. */
async function prepareTables(
  driver: Driver,
  config: ClientConfig,
  { create }: PostgresStorageOptions,
): Promise<string | undefined> {
  const client = new driver.Client(config);
  client.on('error', () => {});
  try {
    await client.connect();
    const [row] = (await client.query("SELECT to_regclass('store_orders_schema')::text AS name")).rows;
    if (create !== true && row?.['name'] === null) {
      return 'there are no tables of store-orders; name the right database, or start the server, which makes them';
    }
    await migrateTables(client, { ...ORDERS_SCHEMA, ...KEYS_SCHEMA });
    return undefined;
  } finally {
    await client.end().catch(() => {});
  }
}

function storageOf(driver: Driver, config: ClientConfig, name: string, { impatient }: PostgresStorageOptions): Storage {
  const limits = impatient === true ? { statement_timeout: STATEMENT_MS, query_timeout: ANSWER_MS } : {};
  const statements = openPool(driver, { ...config, ...limits }, CONNECTIONS);
  const keys = openPool(driver, { ...config, ...limits }, KEY_CONNECTIONS);
  const revision = openPool(driver, { ...config, ...limits }, 1);
  const strangers = openPool(driver, { ...config, ...limits }, STRANGER_CONNECTIONS);
  const lists = openPool(driver, { ...config, ...limits }, LIST_CONNECTIONS);
  const connect = () => lists.connect();
  const orders = createPostgresOrderStore({ ...withNamedStatements(statements), connect });

  let probe: Promise<unknown> | undefined;

  /** One at a time, for all who ask: strangers may, and are not to take the connections of requests. */
  function answers(): Promise<unknown> {
    probe ??= statements.query('SELECT').finally(() => {
      probe = undefined;
    });
    return probe;
  }

  async function close(): Promise<void> {
    await orders.close();
    await Promise.all([statements, keys, revision, strangers, lists].map((pool) => pool.end()));
  }

  const ring = createPostgresKeyRing({
    keys: withNamedStatements(keys),
    revision: withNamedStatements(revision),
    strangers: withNamedStatements(strangers),
  });
  return {
    name,
    orders: explainedOrders(orders),
    keys: explainedKeys(ring),
    // Others have it too: nobody's to fill or to remove.
    isNew: false,
    importRecords: (batches, replace) => explained('store orders', importRecords(connect, batches, replace)),
    records: () => explainedStream('read the orders', readRecords(connect)),

    async state() {
      const timeout = AbortSignal.timeout(PROBE_MS);
      return new Promise((resolve, reject) => {
        timeout.onabort = () => reject(timeout.reason);
        answers().then(() => resolve('ok'), reject);
      });
    },

    neverBlock() {},
    close,
    discard: close,
  };
}

function openPool(driver: Driver, config: ClientConfig, max: number): Pool {
  // A server that has stopped answering does not close its end either: what is idle must not keep this process alive.
  const pool = new driver.Pool({ ...config, max, allowExitOnIdle: true });
  // An idle connection that has ended. The next query says the same, if it is still so.
  pool.on('error', () => {});
  return pool;
}

/** Has every failure say what could not be done, and why. */
function explainedOrders(orders: PostgresOrderStore): PostgresOrderStore {
  const list = 'list the orders';
  return {
    ...orders,
    async list() {
      const listed = await explained(list, orders.list());
      return Symbol.asyncIterator in listed ? explainedStream(list, listed) : listed;
    },
    cancel: (id) => explained(`cancel order ${id}`, orders.cancel(id)),
    put: (records, options) => explained('store orders', orders.put(records, options)),
    get: (id) => explained(`read order ${id}`, orders.get(id)),
    ship: (id) => explained(`ship order ${id}`, orders.ship(id)),
  };
}

function explainedKeys(keys: KeyRing): KeyRing {
  return {
    ...keys,
    authenticate(apiKey) {
      const principal = keys.authenticate(apiKey);
      return principal instanceof Promise ? explained('look an API key up', principal) : principal;
    },
    create: (plan, name) => explained('issue an API key', keys.create(plan, name)),
    isEmpty: () => explained('read the API keys', keys.isEmpty()),
    list: () => explained('read the API keys', keys.list()),
    get: (id) => explained(`read API key ${id}`, keys.get(id)),
    setPlan: (id, plan) => explained(`change API key ${id}`, keys.setPlan(id, plan)),
    revoke: (id) => explained(`revoke API key ${id}`, keys.revoke(id)),
  };
}

async function explained<T>(operation: string, work: T | Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw failureOf(operation, error);
  }
}

async function* explainedStream<T>(operation: string, stream: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* stream;
  } catch (error) {
    throw failureOf(operation, error);
  }
}
