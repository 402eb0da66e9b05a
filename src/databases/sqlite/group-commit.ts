import { type Context, contextOf, currentContext } from '../context.js';
import { type SqliteDatabase, transaction } from './database.js';
import { isResult } from './failure.js';

export interface WriteQueue {
  /**
   * Runs `work` in a transaction that it may share with other writes. Resolves to its result once
   * the transaction is committed. Rejects if it could not be committed.
   */
  write<T>(work: () => T): Promise<T>;
  /** Resolves when every write requested so far has settled. */
  idle(): Promise<void>;
}

interface WaitingWrite {
  readonly context: Context;
  /** Executes the write. The returned function resolves the caller's promise, after the commit. */
  run(): () => void;
  reject(error: unknown): void;
  /** Until when this write may wait for the lock of the file. */
  readonly untilMs: number;
}

/**
 * How long a write of a server may wait for the lock, because its client waits too. An import of a
 * million orders holds the lock for a second or two, on a busy machine for several. A server that
 * ends waits 6 s for its requests.
 */
const LOCK_DEADLINE_MS = 5_000;
const LOCK_RETRY_MS = 5;

/**
 * Creates a queue that commits the writes of one pass of the event loop together, with one fsync
 * (group commit). While another process holds the lock, it waits without blocking the event loop,
 * and calls `onLocked` after each try. If a write fails, only its caller gets the error, and the
 * others are committed without it. Each write runs in the context of its caller, and a commit of
 * several in that of the queue.
 */
export function createWriteQueue(
  database: SqliteDatabase,
  { lockDeadlineMs = LOCK_DEADLINE_MS, onLocked = () => {} } = {},
): WriteQueue {
  const shared = currentContext();
  let waiting: WaitingWrite[] = [];
  let isScheduled = false;
  let lastWritten: Promise<unknown> = Promise.resolve();

  /** Commits and settles the writes in their order. Returns the rest, which wait for the lock. */
  function commit(writes: readonly WaitingWrite[]): WaitingWrite[] {
    let resolves: readonly (() => void)[];
    try {
      resolves = contextOf(writes, shared).runInAsyncScope(() =>
        transaction(database, () => writes.map(({ context, run }) => context.runInAsyncScope(run))),
      );
    } catch (error) {
      if (isResult(error, 'busy')) return rejectLate(writes, error);
      if (writes.length > 1) {
        const locked = writes.findIndex((write) => commit([write]).length > 0);
        return locked < 0 ? [] : writes.slice(locked);
      }
      writes[0]?.reject(error);
      return [];
    }
    for (const resolve of resolves) resolve();
    return [];
  }

  function flush(): void {
    const writes = waiting;
    // A function of the host that SQL calls may write too.
    waiting = [];
    const locked = commit(writes);
    // The writes that wait for the lock stay ahead of newer ones, which may change the same rows.
    waiting = [...locked, ...waiting];
    isScheduled = waiting.length > 0;
    if (locked.length > 0) {
      onLocked();
      setTimeout(flush, LOCK_RETRY_MS);
    } else if (isScheduled) setImmediate(flush);
  }

  function write<T>(work: () => T): Promise<T> {
    if (!isScheduled) setImmediate(flush);
    isScheduled = true;
    const written = new Promise<T>((resolve, reject) => {
      waiting.push({
        context: currentContext(),
        run() {
          const result = work();
          return () => resolve(result);
        },
        reject,
        untilMs: performance.now() + lockDeadlineMs,
      });
    });
    lastWritten = written;
    return written;
  }

  return {
    write,

    async idle() {
      // Writes settle in the order of their requests.
      await lastWritten.catch(() => {});
    },
  };
}

/** Rejects the writes that must not wait longer for the lock, and returns the others. */
function rejectLate(writes: readonly WaitingWrite[], error: unknown): WaitingWrite[] {
  const nowMs = performance.now();
  for (const { untilMs, reject } of writes) if (nowMs >= untilMs) reject(error);
  return writes.filter(({ untilMs }) => nowMs < untilMs);
}
