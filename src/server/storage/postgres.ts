import type { Client, ClientConfig, Pool } from 'pg';
import { checkFields } from '../../check.js';
import { explain, withExplainedErrors } from '../../databases/postgres/failure.js';
import { migrateTables } from '../../databases/postgres/migration.js';
import { withNamedStatements } from '../../databases/postgres/named-statements.js';
import { importRecords } from '../../orders/postgres/import.js';
import { createPostgresOrderStore } from '../../orders/postgres/index.js';
import { ORDERS_SCHEMA } from '../../orders/postgres/own-table.js';
import { readRecords } from '../../orders/postgres/records.js';
import { ifInstalled, notInstalled } from '../installed.js';
import { createPostgresKeyRing, KEYS_SCHEMA } from '../keys/postgres.js';
import type { OpenOutcome, Storage } from './storage.js';

export interface PostgresStorageOptions {
  /**
   * Creates missing tables. Without this option, missing tables are an error, so that a wrong
   * database does not look empty.
   */
  readonly create?: boolean;
  /** Limits the time of each statement. A server needs this, because its clients wait. */
  readonly limitsStatementTime?: boolean;
}

const CONNECTIONS = 8;
/** Connections that read long lists. A list holds its connection until the client has read it. */
const LIST_CONNECTIONS = 4;
const CONNECT_MS = 2_000;
const STATEMENT_MS = 5_000;
/**
 * How long to wait for a reply of PostgreSQL. PostgreSQL's own limit is shorter, so that PostgreSQL
 * stops the statement first, with an error that has more details.
 */
const ANSWER_MS = STATEMENT_MS + 1_000;
const PROBE_MS = 2_000;

/**
 * Opens a PostgreSQL database and migrates its tables to the newest version. Any number of
 * processes may do this at the same time. The caller closes the storage. The URL must be valid.
 * Messages show only the host, port and database of the URL.
 */
export async function openPostgresStorage(url: string, options: PostgresStorageOptions = {}): Promise<OpenOutcome> {
  if (typeof url !== 'string') throw new TypeError('url: expected the URL of a PostgreSQL database');
  checkFields('options', options, ['create', 'limitsStatementTime']);
  const driver = await loadDriver();
  if (driver === undefined) {
    return { ok: false, message: notInstalled('the PostgreSQL driver', 'pg') };
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
    return { ok: false, message: `cannot open the database ${name}: ${explain(error)}` };
  }
}

type Driver = Pick<typeof import('pg'), 'Client' | 'Pool'>;

/**
 * Loads the driver, if it is installed. It is optional, because a program that uses SQLite does not
 * need it.
 */
async function loadDriver(): Promise<Driver | undefined> {
  return (await ifInstalled(import('pg')))?.default;
}

/**
 * Returns the URL of a database without user, password and parameters. For a unix socket, the host
 * is its directory.
 */
function nameOf({ host, port, database }: Client): string {
  const shownHost = host.includes(':') ? `[${host}]` : encodeURIComponent(host);
  return `postgres://${shownHost}:${port}/${encodeURIComponent(database ?? '')}`;
}

/**
 * Creates or migrates the tables, however long it takes. Returns a message if tables are missing
 * and must not be created.
 */
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
      return 'it has no store-orders tables; check the name of the database, or start the server to create them';
    }
    await migrateTables(client, { ...ORDERS_SCHEMA, ...KEYS_SCHEMA });
    return undefined;
  } finally {
    await client.end().catch(() => {});
  }
}

function storageOf(
  driver: Driver,
  config: ClientConfig,
  name: string,
  { limitsStatementTime }: PostgresStorageOptions,
): Storage {
  const limits = limitsStatementTime === true ? { statement_timeout: STATEMENT_MS, query_timeout: ANSWER_MS } : {};
  const statements = openPool(driver, { ...config, ...limits }, CONNECTIONS);
  const lists = openPool(driver, { ...config, ...limits }, LIST_CONNECTIONS);
  const { connect } = withExplainedErrors(lists);
  const named = withNamedStatements(withExplainedErrors(statements));
  const orders = createPostgresOrderStore({ ...named, connect });
  const keys = createPostgresKeyRing(named);

  let probe: Promise<unknown> | undefined;

  /**
   * Looks up an order and a key that do not exist, because a list would read every order.
   * Concurrent callers share the queries, so that clients that probe readiness cannot use up the
   * connections.
   */
  function answers(): Promise<unknown> {
    probe ??= Promise.all([orders.get(0n), keys.get('')]).finally(() => {
      probe = undefined;
    });
    return probe;
  }

  async function close(): Promise<void> {
    await orders.close();
    await Promise.all([statements, lists].map((pool) => pool.end()));
  }

  return {
    name,
    orders,
    keys,
    // Other processes may use the database, so it is never treated as new: no sample orders are
    // added to it.
    isNew: false,
    importRecords: (batches, replace) => importRecords(connect, batches, replace),
    records: () => readRecords(connect),

    async state() {
      const timeout = AbortSignal.timeout(PROBE_MS);
      return new Promise((resolve, reject) => {
        timeout.onabort = () => reject(timeout.reason);
        answers().then(() => resolve('ok'), reject);
      });
    },

    close,
    discard: close,
  };
}

function openPool(driver: Driver, config: ClientConfig, max: number): Pool {
  // Without `allowExitOnIdle`, an idle connection to a PostgreSQL server that has stopped
  // responding would keep this process alive.
  const pool = new driver.Pool({ ...config, max, allowExitOnIdle: true });
  // This error means that an idle connection has ended. If the cause persists, the next query
  // reports it.
  pool.on('error', () => {});
  return pool;
}
