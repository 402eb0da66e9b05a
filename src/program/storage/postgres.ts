import type { Client, ClientConfig, Pool } from 'pg';
import {
  type Connect,
  codeOf,
  holdConnection,
  type PostgresPool,
  withUnnamedFallback,
} from '../../databases/postgres/client.js';
import { migrateTables } from '../../databases/postgres/migration.js';
import { createPatientClient, type PatienceOptions } from '../../databases/postgres/patient-client.js';
import { beginTransaction } from '../../databases/postgres/transaction.js';
import { messageOf } from '../../message-of.js';
import {
  CHANGE,
  createOwnStore,
  importRecords,
  ORDERS_SCHEMA,
  readRecords,
  restoreRevision,
} from '../../orders/postgres/engine.js';
import { ifInstalled } from '../installed.js';
import { createPostgresKeyRing, KEYS_SCHEMA } from './postgres-keys.js';
import type { OpenAttempt, Storage } from './storage.js';

export interface PostgresStorageOptions {
  /** Creates missing tables. A server always does. */
  readonly create?: boolean;
  /** Migrates older tables, and limits the time of each statement, because clients wait. */
  readonly isServer?: boolean;
}

/** The most in the pool. A server opens one more, up to 12, while it asks about overdue cancels. */
const CONNECTIONS = 11;
/** The most of them that cancels hold, so that lists and keys go on while no commit ends. */
const MOST_CANCELS = 4;
const CONNECT_MS = 2_000;
const STATEMENT_MS = 5_000;
/** Longer than the limit of PostgreSQL itself, whose error has more details. */
const REPLY_MS = STATEMENT_MS + 1_000;

/** The SQLSTATE code of a pooler that refuses a startup parameter. */
const PROTOCOL_VIOLATION = '08P01';

/**
 * Looks up an order and a key that do not exist, because a list would read every order. Row-level
 * security without a policy would make both tables look empty.
 */
const SELECT_STATE = `SELECT current_setting('transaction_read_only') AS is_read_only,
  EXISTS (SELECT FROM store_orders WHERE id = 0), EXISTS (SELECT FROM store_orders_keys WHERE id = ''), (
    SELECT string_agg(name::text, ', ') FROM unnest('{store_orders,store_orders_keys}'::regclass[]) AS name
    WHERE row_security_active(name) AND NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = name)) AS hidden`;

/**
 * Selects the cancels that take the server longer than any sound one. Those that a client abandoned
 * are at least 6 s old, by a clock that may have begun earlier. Their text is what no pooler changes.
 * Only the role of the login sees it, which a setting can replace with another role.
 */
const SELECT_LONG = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
  AND starts_with(query, '${CHANGE}') AND query_start < now() - interval '3 s'`;

type Driver = Pick<typeof import('pg'), 'Client' | 'Pool'>;

/**
 * Opens a PostgreSQL database. Any number of processes may do this at the same time. The caller
 * closes the storage. The URL must be valid. Messages show only the host, port and database of the
 * URL.
 */
export async function openPostgresStorage(
  url: string,
  { isServer = false, create = isServer }: PostgresStorageOptions = {},
): Promise<OpenAttempt> {
  const config: ClientConfig = {
    connectionString: url,
    application_name: 'store-orders',
    connectionTimeoutMillis: CONNECT_MS,
  };
  let name = 'of this URL';
  try {
    const { default: driver } = await ifInstalled(import('pg'), 'the PostgreSQL driver', 'pg');
    const client = new driver.Client(config);
    name = nameOf(client);
    const schemas = { ...ORDERS_SCHEMA, ...KEYS_SCHEMA };
    await whileConnected(client, async (pool) => {
      await migrateTables(pool, schemas, { creates: create, upgrades: isServer });
      if (create) await restoreRevision(pool);
    });
    const limits = isServer ? await limitStatements(driver, config, name) : {};
    const pool = openPool(driver, { ...config, ...limits });
    const hasLongStatement = () =>
      whileConnected(new driver.Client({ ...config, query_timeout: CONNECT_MS }), async ({ connect }) => {
        const transaction = await beginTransaction(connect, 'BEGIN', 'SET LOCAL ROLE NONE');
        const { rows } = await transaction.query({ text: SELECT_LONG });
        await transaction.commit();
        return rows.length > 0;
      });
    return { ok: true, storage: storageOf(pool, name, isServer ? hasLongStatement : undefined) };
  } catch (error) {
    return { ok: false, message: `cannot open the database ${name}: ${messageOf(error)}` };
  }
}

/** Returns the URL without user, password and parameters. A unix socket's directory is the host. */
function nameOf({ host, port, database }: Client): string {
  const shownHost = host.includes(':') ? `[${host}]` : encodeURIComponent(host);
  return `postgres://${shownHost}:${port}/${encodeURIComponent(database ?? '')}`;
}

/** Runs `work` over the connection of a client, however long it takes. */
async function whileConnected<T>(client: Client, work: (pool: Required<PostgresPool>) => Promise<T>): Promise<T> {
  client.on('error', () => {});
  const query: PostgresPool['query'] = (statement) => client.query(statement);
  try {
    await client.connect();
    return await work({ query, connect: async () => ({ query, release() {} }) });
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Returns the options that limit the time of a statement. A pooler can refuse a connection that sets
 * a `statement_timeout`. Behind it, only the driver limits the time. A warning reports this.
 */
async function limitStatements(driver: Driver, config: ClientConfig, name: string): Promise<ClientConfig> {
  const limits = { statement_timeout: STATEMENT_MS, query_timeout: REPLY_MS };
  try {
    await whileConnected(new driver.Client({ ...config, ...limits }), async () => {});
    return limits;
  } catch (error) {
    if (codeOf(error) !== PROTOCOL_VIOLATION) throw error;
    process.emitWarning(
      `${name} refuses the startup parameter statement_timeout, so a statement may go on after its client got 503. ` +
        `Set it for the role: ALTER ROLE … SET statement_timeout = '5s'.`,
      'StoreOrdersWarning',
    );
    return { query_timeout: REPLY_MS };
  }
}

function openPool(driver: Driver, config: ClientConfig): Pool {
  // Without `allowExitOnIdle`, an idle connection to a server that hangs keeps the process alive.
  const pool = new driver.Pool({ ...config, max: CONNECTIONS, allowExitOnIdle: true });
  // An idle connection has ended. If the cause persists, the next query reports it.
  pool.on('error', () => {});
  return pool;
}

/** With `hasLongStatement`, as for a server, cancels have a deadline, because clients wait for them. */
function storageOf(pool: Pool, name: string, hasLongStatement?: PatienceOptions['hasLongStatement']): Storage {
  const connect: Connect = (callback) => void pool.connect(callback);
  const database = withUnnamedFallback({ query: (statement) => pool.query(statement), connect });
  const cancels =
    hasLongStatement && createPatientClient(connect, { most: MOST_CANCELS, replyMs: REPLY_MS, hasLongStatement });
  const orders = createOwnStore(database, cancels && withUnnamedFallback(cancels));
  const keys = createPostgresKeyRing(database);
  return {
    name,
    orders,
    keys,
    importRecords: (batches, replace) => importRecords(connect, batches, replace),
    records: () => readRecords(connect),

    async state(): Promise<'ok'> {
      const client = await holdConnection(connect);
      let isSound = false;
      try {
        const { is_read_only, hidden } = Object((await client.query({ text: SELECT_STATE })).rows[0]);
        if (is_read_only === 'on') throw new Error('the database is read-only');
        if (hidden !== null) throw new Error(`row-level security hides ${hidden}; create a policy for this role`);
        isSound = true;
        return 'ok';
      } finally {
        // After a failover, a new connection may lead to another server.
        client.release(!isSound);
      }
    },

    close() {
      cancels?.abandon();
      return pool.end();
    },
  };
}
