import type { HeldPostgresClient, PostgresClient, PostgresRow } from './client.js';

/**
 * Runs `read` in a read-only transaction that sees one snapshot, begun no earlier than the first
 * step of the iteration.
 */
export type SnapshotReader = <T>(read: (client: PostgresClient) => AsyncIterable<T>) => AsyncGenerator<T>;

/** How many snapshots are open at once, each of which holds a connection. */
const MOST_OPEN = 4;
/**
 * For how long the readers of a snapshot may ask for nothing, if they have been quick, before it
 * can be ended in favour of others. A mount sends half a mebibyte at a time: a client that takes 1
 * MB a second is never too slow.
 */
const SPARE_MS = 500;
/** How much of that time an answer gives back to its reader. */
const EARNED_MS = 300;
/** How soon to look again at a snapshot whose next answer is on its way. */
const RECHECK_MS = 50;
/** How long a reader waits while every snapshot is read quickly enough. */
const PATIENCE_MS = 5_000;

/**
 * Creates a reader of snapshots over the connections of a pool: four at most are held at once,
 * however many readers there are. Readers that wait for a connection share the next snapshot. While somebody waits,
 * the snapshot whose readers are the furthest behind is ended if they take less than about 1 MB a
 * second each; their next query rejects. Time that the server needs does not count. A connection
 * over which a query failed is closed: a server that has not answered once would be waited for
 * twice.
 */
export function createSnapshotReader(connect: () => Promise<HeldPostgresClient>): SnapshotReader {
  const open = new Set<Snapshot>();
  /** The snapshot that is still to begin: a reader that comes meanwhile shares it. */
  let next: Snapshot | undefined;
  let wake = () => {};

  /** Waits until another snapshot may be opened. */
  async function makeRoom(): Promise<void> {
    const givenUpMs = performance.now() + PATIENCE_MS;
    while (open.size >= MOST_OPEN) {
      const slowest = [...open].reduce((a, b) => (b.dueMs() < a.dueMs() ? b : a));
      if (slowest.dueMs() <= performance.now()) {
        slowest.end(new Error('its reader was too slow while others waited for a connection'));
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
      await snapshot.begin(await connect());
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

/** A transaction on a connection of its own, for any number of readers. */
class Snapshot implements PostgresClient {
  readonly begun: Promise<void>;
  readers = 0;
  readonly #closed: (snapshot: Snapshot) => void;
  #client: HeldPostgresClient | undefined;
  /** The query that was asked last: one follows the other. */
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
    client.on?.('error', ignore);
    await this.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  }

  /**
   * From when on it may be ended in favour of others; while the server is asked it is not the
   * readers who are slow.
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

  /** Closes the connection: a reader learns why from its next query. */
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
    client.off?.('error', ignore);
    client.release(destroy);
    this.#closed(this);
  }
}

/** The next query says the same. */
function ignore(): void {}
