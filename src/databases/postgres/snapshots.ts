import {
  type HeldPostgresClient,
  holdConnection,
  type PostgresClient,
  type PostgresPool,
  type PostgresRow,
} from './client.js';

/**
 * Returns a generator that runs `read` in a read-only transaction. The transaction sees one
 * snapshot, taken no earlier than the first step of the generator.
 */
export type SnapshotReader = <T>(read: (client: PostgresClient) => AsyncIterable<T>) => AsyncGenerator<T>;

/** The greatest number of snapshots that are open at the same time. Each one holds a connection. */
const MOST_OPEN = 4;
/**
 * The longest pause that readers may make between two queries of a snapshot. After a longer pause,
 * the snapshot can be closed so that others get its connection. The service sends half a mebibyte
 * before it asks for more orders. A client that reads 1 MB per second needs about 500 ms for that.
 */
const SPARE_MS = 500;
/**
 * The pause that each query earns: the next query may come this much later before the snapshot can
 * be closed. Several readers share this time equally, because each of them makes queries. Unused
 * time adds up, to at most `SPARE_MS`.
 */
const EARNED_MS = 300;
/** A snapshot whose query is still running is checked again after this time. */
const RECHECK_MS = 50;
/**
 * How long a reader waits for a connection before its list fails. The wait is shorter if an open
 * snapshot is read so slowly that it can be closed.
 */
const PATIENCE_MS = 5_000;

/**
 * Creates a function that reads snapshots over a pool. For any number of callers, the function uses
 * at most four of the pool's connections at a time. Readers that wait for a connection share the
 * next snapshot.
 *
 * While a reader waits for a connection, the slowest of the open snapshots can be closed. This
 * happens only if its readers read less than about 1 MB per second each. Their next query rejects.
 * The time that the server spends on a query does not count as slow reading.
 *
 * If a query fails, its connection is closed without a ROLLBACK, because the ROLLBACK might time
 * out as well.
 */
export function createSnapshotReader(connect: NonNullable<PostgresPool['connect']>): SnapshotReader {
  const open = new Set<Snapshot>();
  /** The snapshot that begins next. Readers that arrive before it begins share it. */
  let next: Snapshot | undefined;
  let wake = () => {};

  /** Waits until another snapshot may be opened. Closes a slow snapshot if necessary. */
  async function makeRoom(): Promise<void> {
    const givenUpMs = performance.now() + PATIENCE_MS;
    while (open.size >= MOST_OPEN) {
      const slowest = [...open].reduce((a, b) => (b.dueMs() < a.dueMs() ? b : a));
      if (slowest.dueMs() <= performance.now()) {
        slowest.end(new Error('the client read the list too slowly while other lists waited for a connection'));
        return;
      }
      if (performance.now() >= givenUpMs) throw new Error('every connection for long lists is in use');
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(slowest.dueMs(), givenUpMs) - performance.now());
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  async function begin(snapshot: Snapshot): Promise<void> {
    try {
      await makeRoom();
      open.add(snapshot);
      await snapshot.begin(await holdConnection(connect));
    } catch (error) {
      closed(snapshot);
      throw error;
    } finally {
      next = undefined;
    }
  }

  function closed(snapshot: Snapshot): void {
    open.delete(snapshot);
    wake();
  }

  function join(): Snapshot {
    next ??= new Snapshot(closed, begin);
    next.readers++;
    return next;
  }

  return async function* readSnapshot(read) {
    const snapshot = join();
    try {
      await snapshot.begun;
      yield* read(snapshot);
    } finally {
      await snapshot.leave();
    }
  };
}

/**
 * A snapshot: a read-only transaction on a connection of its own. Any number of readers can share
 * it.
 */
class Snapshot implements PostgresClient {
  readonly begun: Promise<void>;
  readers = 0;
  readonly #closed: (snapshot: Snapshot) => void;
  #client: HeldPostgresClient | undefined;
  /** The most recent query. Queries run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #asking = 0;
  #dueMs = Number.POSITIVE_INFINITY;
  #failure: { readonly error: unknown } | undefined;

  constructor(closed: (snapshot: Snapshot) => void, begin: (snapshot: Snapshot) => Promise<void>) {
    this.#closed = closed;
    this.begun = begin(this);
  }

  async begin(client: HeldPostgresClient): Promise<void> {
    this.#client = client;
    await this.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  }

  /**
   * Returns the time from which the snapshot may be closed so that others get its connection. While
   * a query runs, the snapshot must stay open, so this time is then in the future.
   */
  dueMs(): number {
    return this.#asking > 0 ? performance.now() + RECHECK_MS : this.#dueMs;
  }

  query(text: string, values?: string[]): Promise<{ readonly rows: readonly PostgresRow[] }> {
    this.#asking++;
    const answer = this.#last.then(() => this.#ask(text, values));
    this.#last = answer.catch(ignore);
    return answer;
  }

  async #ask(text: string, values?: string[]): Promise<{ readonly rows: readonly PostgresRow[] }> {
    try {
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#client === undefined) throw new Error('the snapshot is closed');
      return await this.#client.query(text, values);
    } catch (error) {
      this.end(error);
      throw error;
    } finally {
      this.#asking--;
      const nowMs = performance.now();
      this.#dueMs = Math.min(Math.max(this.#dueMs, nowMs) + EARNED_MS / this.readers, nowMs + SPARE_MS);
    }
  }

  /** Closes the connection. The next query of each reader rejects with `error`. */
  end(error: unknown): void {
    this.#failure ??= { error };
    this.#release(true);
  }

  async leave(): Promise<void> {
    this.readers--;
    if (this.readers > 0 || this.#client === undefined) return;
    const isSound = await this.#client.query('COMMIT').then(
      () => true,
      () => false,
    );
    this.#release(!isSound);
  }

  #release(destroy: boolean): void {
    const client = this.#client;
    if (client === undefined) return;
    this.#client = undefined;
    client.release(destroy);
    this.#closed(this);
  }
}

/** Ignores an error here, because the next query reports it. */
function ignore(): void {}
