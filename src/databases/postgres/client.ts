/**
 * The part of a PostgreSQL driver that is used. `pg`'s Pool and Client fit as they are, and so does whatever can be put
 * behind one function. Every value handed over is a text and every parameter is declared as one, because drivers
 * disagree on all other types; what comes back is text too.
 */
export interface PostgresClient {
  query(text: string, values?: string[]): Promise<{ readonly rows: readonly PostgresRow[] }>;
  /**
   * The same for one of the few statements that are sent often, which may be prepared: see
   * `withNamedStatements`.
   */
  queryOften?(text: string, values: string[]): Promise<{ readonly rows: readonly PostgresRow[] }>;
}

export type PostgresRow = Readonly<Record<string, unknown>>;

/** Many connections: each query may go over another. */
export interface PostgresPool extends PostgresClient {
  /** One connection for several queries, which reading a long list from one snapshot needs. */
  connect?(): Promise<HeldPostgresClient>;
}

export interface HeldPostgresClient extends PostgresClient {
  /** Gives the connection back, or with `true` has it closed. */
  release(destroy?: boolean): void;
  /** `pg` reports a connection that ends between two queries here, and ends the process where nobody listens. */
  on?(event: 'error', listener: () => void): unknown;
  off?(event: 'error', listener: () => void): unknown;
}

/** Sends a statement that is sent often, prepared where the client can do that. */
export function queryOften(client: PostgresClient, text: string, values: string[] = []) {
  return client.queryOften?.(text, values) ?? client.query(text, values);
}

/** Throws a TypeError that names the option. */
export function checkPool(pool: PostgresPool): void {
  if (typeof pool?.query !== 'function') throw new TypeError('pool: expected an object with the method query');
}

/**
 * The value of a column by which the transaction that selects it waits for its commit to be on disk, even where
 * `synchronous_commit` is `off` for the role or the database. Any other level is left as it is: all of them wait.
 */
export const WAIT_FOR_DISK =
  "CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END";

/** Whether the server refused a row because a unique key has it already. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23505';
}
