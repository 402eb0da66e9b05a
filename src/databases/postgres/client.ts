/**
 * The part of a PostgreSQL driver that this package uses. The Pool and the Client of `pg` can be
 * used directly. For another driver, write an object with the method `query`. Every parameter is
 * passed as text and declared as text, because drivers differ on all other types. Results are text
 * too.
 */
export interface PostgresClient {
  query(text: string, values?: string[]): Promise<{ readonly rows: readonly PostgresRow[] }>;
  /** Sends a frequent statement. The server may prepare it, see `withNamedStatements`. */
  queryOften?(text: string, values: string[]): Promise<{ readonly rows: readonly PostgresRow[] }>;
}

export type PostgresRow = Readonly<Record<string, unknown>>;

/** A pool of connections. Each query may use a different connection. */
export interface PostgresPool extends PostgresClient {
  /**
   * Takes one connection out of the pool, for several queries. A long list needs this, because all
   * its queries must see the same snapshot. The pool calls `taken` if it can, as `pg` does, or
   * returns a promise.
   */
  connect?(taken: (error: unknown, client?: HeldPostgresClient) => void): Promise<HeldPostgresClient> | undefined;
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

/**
 * Takes one connection out of a pool, and ignores its `error` events until it is released: the next
 * query reports the error. PostgreSQL can end a connection in its first packet. `pg` calls back
 * before it reads the rest of that packet, but a promise would resolve too late to listen.
 */
export async function holdConnection(connect: NonNullable<PostgresPool['connect']>): Promise<HeldPostgresClient> {
  const client = await new Promise<HeldPostgresClient>((resolve, reject) => {
    connect((error, taken) => {
      taken?.on?.('error', ignore);
      taken === undefined ? reject(error) : resolve(taken);
    })?.then(resolve, reject);
  });
  return {
    query: (text, values) => client.query(text, values),
    release(destroy) {
      client.off?.('error', ignore);
      client.release(destroy);
    },
  };
}

function ignore(): void {}

/**
 * Sends a frequently used statement: as a prepared statement if the client supports that, otherwise
 * as an ordinary query.
 */
export function queryOften(client: PostgresClient, text: string, values: string[] = []) {
  return client.queryOften?.(text, values) ?? client.query(text, values);
}

/** Throws a TypeError that names the option, unless `pool` has the method `query`. */
export function checkPool(pool: unknown, option = 'pool'): void {
  if (typeof Object(pool).query !== 'function')
    throw new TypeError(`${option}: expected an object with the method query`);
}

/**
 * An SQL expression that turns `synchronous_commit` on for its transaction if it is `off` for the
 * role or the database. The commit then waits until it is on disk. All other values of
 * `synchronous_commit` are kept, because they wait too.
 */
export const WAIT_FOR_DISK =
  "CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END";

/** Returns whether the server rejected a row because another row has the same unique key. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23505';
}
