import { AsyncResource } from 'node:async_hooks';
import type { Connect, PostgresClient } from '../../databases/postgres/client.js';
import { beginTransaction } from '../../databases/postgres/transaction.js';
import { createTurns } from '../../databases/postgres/turns.js';

/**
 * Returns a generator that runs `read` in a read-only transaction on a connection of its own. The
 * transaction sees one snapshot, taken at the first step of the generator.
 */
export type SnapshotReader = (read: (client: PostgresClient) => AsyncIterable<string>) => AsyncGenerator<string>;

/** The pages of a list that were read before its caller asked for them. */
interface Ahead {
  pages: string[];
  length: number;
  error: unknown;
}

/** The most connections that read long lists at the same time. */
const MOST_OPEN = 4;
/** How long a reader waits for a connection before its list fails. */
const PATIENCE_MS = 5_000;
/** How often a connection is freed while a reader waits for one. */
const FREE_EVERY_MS = 500;
/** A caller that takes a page of 200 KB in this time is not slow. */
const SLOW_MS = 100;
/** The most text that is read ahead for slow callers, in bytes. */
const MOST_AHEAD = 32 * 2 ** 20;

const BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/**
 * Creates a function that reads snapshots over a pool, with at most four of the pool's connections
 * at a time. Each transaction begins with `statements`. If a reader stops early, its connection is
 * closed, because a ROLLBACK might time out.
 *
 * While a reader waits for a connection, the list whose caller has kept its connection waiting for
 * longest is read ahead, which frees the connection. At most 32 MB are kept for all such callers.
 * Beyond that, the list with the most left ends with an error.
 */
export function createSnapshotReader(connect: Connect, ...statements: readonly string[]): SnapshotReader {
  const turns = createTurns(MOST_OPEN);
  /** Reads a list ahead. The one whose caller has been slow for longest comes first. */
  const slow = new Set<() => Promise<void>>();
  const kept = new Set<Ahead>();
  let waiting = 0;
  let freeing = 0;

  async function freeConnection(): Promise<void> {
    const [readAhead] = slow;
    if (freeing >= waiting || readAhead === undefined) return;
    freeing++;
    await readAhead();
    freeing--;
  }

  async function* readOnConnection(read: Parameters<SnapshotReader>[0]): AsyncGenerator<string> {
    waiting++;
    const timer = setInterval(freeConnection, FREE_EVERY_MS);
    const isTurn = await turns.take(PATIENCE_MS);
    clearInterval(timer);
    waiting--;
    if (!isTurn) throw new Error('every connection for long lists is in use');
    try {
      const transaction = await beginTransaction(connect, BEGIN, ...statements);
      try {
        yield* read(transaction);
        await transaction.commit();
      } finally {
        transaction.end();
      }
    } finally {
      turns.end();
    }
  }

  async function keep(pages: AsyncIterable<string>, ahead: Ahead): Promise<void> {
    kept.add(ahead);
    try {
      for await (const page of pages) {
        ahead.pages.push(page);
        ahead.length += page.length;
        makeRoom();
        if (!kept.has(ahead)) return;
      }
    } catch (error) {
      ahead.error = error;
    }
  }

  function makeRoom(): void {
    const [most, ...others] = [...kept].sort((a, b) => b.length - a.length);
    if (most === undefined || others.reduce((sum, { length }) => sum + length, most.length) <= MOST_AHEAD) return;
    kept.delete(most);
    most.pages = [];
    most.error = new Error('The list was cut off, because its slow client had the most left while others waited.');
  }

  return async function* readSnapshot(read) {
    const pages = readOnConnection(read);
    const ahead: Ahead = { pages: [], length: 0, error: undefined };
    let keeping: Promise<void> | undefined;
    let timer: NodeJS.Timeout | undefined;
    const readAhead = AsyncResource.bind((): Promise<void> => {
      slow.delete(readAhead);
      keeping = keep(pages, ahead);
      return keeping;
    });
    function noteProgress(): void {
      clearTimeout(timer);
      slow.delete(readAhead);
    }

    try {
      for await (const page of pages) {
        timer = setTimeout(() => slow.add(readAhead), SLOW_MS);
        yield page;
        noteProgress();
        if (keeping === undefined) continue;
        await keeping;
        for (let next = ahead.pages.shift(); next !== undefined; next = ahead.pages.shift()) {
          ahead.length -= next.length;
          yield next;
        }
        if (ahead.error !== undefined) throw ahead.error;
      }
    } finally {
      noteProgress();
      kept.delete(ahead);
    }
  };
}
