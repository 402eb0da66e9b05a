import { hash } from 'node:crypto';

/**
 * The part of a PostgreSQL driver that this package uses. The Pool and the Client of `pg` can be
 * used directly. For another driver, write an object with the method `query`. Every parameter is
 * passed and declared as text, because drivers differ on all other types. Results are text too,
 * except the line numbers of an import.
 */
export interface PostgresClient {
  query(statement: PostgresStatement): Promise<{ readonly rows: readonly PostgresRow[] }>;
}

export interface PostgresStatement {
  /**
   * The name of a frequent statement. A driver may prepare it under this name, so that the server
   * parses it only once for each connection. Different texts have different names.
   */
  readonly name?: string;
  readonly text: string;
  readonly values?: string[];
}

export type PostgresRow = Readonly<Record<string, unknown>>;

/** A pool of connections. Each query may use a different connection. */
export interface PostgresPool extends PostgresClient {
  /**
   * Takes one connection out of the pool, for several queries. A long list needs this, because all
   * its queries must see the same snapshot. The pool calls `callback`, as `pg` does, or returns a
   * promise.
   */
  connect?(callback: (error: unknown, client?: HeldPostgresClient) => void): Promise<HeldPostgresClient> | undefined;
}

/** Takes a connection, as the `connect` of a pool. */
export type Connect = NonNullable<PostgresPool['connect']>;

export interface HeldPostgresClient extends PostgresClient {
  /** Returns the connection to the pool, or closes it if `destroy` is true. */
  release(destroy?: boolean): void;
  /**
   * `pg` emits `error` when a connection ends between two queries. Without a listener, Node.js ends
   * the process.
   */
  on?(event: 'error', listener: (error: unknown) => void): unknown;
  off?(event: 'error', listener: (error: unknown) => void): unknown;
}

/**
 * Takes one connection out of a pool. If it ends between two queries, the next query rejects with
 * PostgreSQL's reason. Listens in the callback that `pg` calls: if PostgreSQL ends the connection in
 * its first packet, a promise would resolve only after the event.
 */
export async function holdConnection(connect: Connect): Promise<HeldPostgresClient> {
  let ended: { readonly reason: unknown } | undefined;
  function noteEnd(reason: unknown): void {
    ended ??= { reason };
  }
  const client = await new Promise<HeldPostgresClient>((resolve, reject) => {
    connect((error, held) => {
      held?.on?.('error', noteEnd);
      if (held === undefined) reject(error);
      else resolve(held);
    })?.then(resolve, reject);
  });
  return {
    async query(statement) {
      if (ended !== undefined) throw ended.reason;
      return client.query(statement);
    },

    release(destroy) {
      client.off?.('error', noteEnd);
      client.release(destroy);
    },
  };
}

/** Names a frequent statement, so that each connection parses it only once. */
export function nameStatement(text: string): { readonly name: string; readonly text: string } {
  return { name: `store_orders_${hash('sha256', text, 'hex').slice(0, 32)}`, text };
}

/** The SQLSTATE codes of a named statement that the server does not know, or knows already. */
const FOREIGN_NAMES = ['26000', '42P05'];

const UNNAMED_WARNING =
  'PostgreSQL has lost a prepared statement, as behind a pooler in transaction mode. Statements are no longer ' +
  'prepared, which costs PostgreSQL more processor time. pgbouncer keeps them from version 1.21 on, with ' +
  'max_prepared_statements above 0.';

/**
 * Returns a pool that stops naming statements, and emits a process warning, when the server does
 * not know a name, or knows it already. That happens behind a pooler that gives each transaction
 * another connection. Such a statement has not run, so it is sent again without its name.
 */
export function withUnnamedFallback(pool: PostgresPool): PostgresPool {
  let isNaming = true;

  async function query(statement: PostgresStatement) {
    const { name, ...unnamed } = statement;
    if (name === undefined || !isNaming) return pool.query(unnamed);
    try {
      return await pool.query(statement);
    } catch (error) {
      if (!FOREIGN_NAMES.includes(codeOf(error))) throw error;
    }
    if (isNaming) process.emitWarning(UNNAMED_WARNING, 'StoreOrdersWarning');
    isNaming = false;
    return pool.query(unnamed);
  }

  return pool.connect === undefined ? { query } : { query, connect: pool.connect.bind(pool) };
}

/**
 * SQL that turns `synchronous_commit` on for its transaction if it is `off`, so that the commit
 * waits for the disk. All other values wait too, and are kept.
 */
export const WAIT_FOR_DISK =
  "CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END";

/** Returns the SQLSTATE code of a server's error, or the code of a connection error of Node.js. */
export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
