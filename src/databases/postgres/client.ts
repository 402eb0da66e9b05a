/**
 * The part of a PostgreSQL driver that this package uses. `pg`'s Pool and Client fit as they are.
 * Any other driver needs only a function `query` around it. Every parameter is passed as text and
 * declared as text, because drivers differ on all other types. Results are text too.
 */
export interface PostgresClient {
  query(text: string, values?: string[]): Promise<{ readonly rows: readonly PostgresRow[] }>;
  /** Sends one of the few frequent statements, which may be prepared. See `withNamedStatements`. */
  queryOften?(text: string, values: string[]): Promise<{ readonly rows: readonly PostgresRow[] }>;
}

export type PostgresRow = Readonly<Record<string, unknown>>;

/** A pool of connections. Each query may use a different connection. */
export interface PostgresPool extends PostgresClient {
  /**
   * Takes one connection for several queries, as is needed to read a long list from one snapshot.
   */
  connect?(): Promise<HeldPostgresClient>;
}

export interface HeldPostgresClient extends PostgresClient {
  /** Returns the connection to the pool, or closes it if `destroy` is true. */
  release(destroy?: boolean): void;
  /**
   * `pg` emits `error` when a connection ends between two queries. Without a listener, Node.js ends
   * the process.
   */
  on?(event: 'error', listener: () => void): unknown;
  off?(event: 'error', listener: () => void): unknown;
}

/** Sends a frequent statement, prepared if the client supports that. */
export function queryOften(client: PostgresClient, text: string, values: string[] = []) {
  return client.queryOften?.(text, values) ?? client.query(text, values);
}

/** Throws a TypeError that names the option, unless `pool` has the method `query`. */
export function checkPool(pool: unknown, option = 'pool'): void {
  if (typeof Object(pool).query !== 'function')
    throw new TypeError(`${option}: expected an object with the method query`);
}

/**
 * An SQL expression that makes its transaction wait until the commit is on disk, even if
 * `synchronous_commit` is `off` for the role or the database. Every other level of
 * `synchronous_commit` stays as it is, because it waits too.
 */
export const WAIT_FOR_DISK =
  "CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END";

/** Reports whether the server rejected a row because one with the same unique key exists. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23505';
}
