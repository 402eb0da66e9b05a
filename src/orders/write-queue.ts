import { isBusy, type SqliteDatabase, transaction } from './sqlite-database.js';

interface Write {
  /** When it was first tried and found the lock held. */
  waitingSinceMs?: number;
  /** Runs inside a transaction, perhaps more than once: only the run that is committed counts. */
  run(): void;
  resolve(): void;
  reject(error: unknown): void;
}

/** How long a write waits for another process's lock before it is rejected. */
const LOCK_DEADLINE_MS = 2_000;
const LOCK_RETRY_MS = 5;

/**
 * Group commit: the writes that arrive in one turn of the event loop are one transaction and one fsync. Each caller is
 * answered after the commit, and one caller's failure is not another's. While another process holds the lock the queue
 * waits without blocking the event loop.
 */
export function createWriteQueue(database: SqliteDatabase) {
  let writes: Write[] = [];

  function flush(): void {
    const batch = writes;
    writes = [];
    commit(batch);
    if (writes.length > 0) setTimeout(flush, LOCK_RETRY_MS);
  }

  function commit(batch: readonly Write[]): void {
    try {
      transaction(database, () => {
        for (const write of batch) write.run();
      });
      for (const write of batch) write.resolve();
    } catch (error) {
      if (isBusy(error)) for (const write of batch) retryOrReject(write, error);
      else if (batch.length > 1) for (const write of batch) commit([write]);
      else batch[0]?.reject(error);
    }
  }

  function retryOrReject(write: Write, error: unknown): void {
    const nowMs = performance.now();
    write.waitingSinceMs ??= nowMs;
    if (nowMs - write.waitingSinceMs < LOCK_DEADLINE_MS) writes.push(write);
    else write.reject(error);
  }

  /** Resolves to what `work` returned in the run that is now committed; rejects if it could not be. */
  function write<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      let result: T;
      const run = () => {
        result = work();
      };
      // A queue that is not empty has its flush ahead, at once or after the lock.
      if (writes.push({ run, resolve: () => resolve(result), reject }) === 1) setImmediate(flush);
    });
  }

  /** Resolves when every write asked for so far is answered, one way or the other. */
  async function idle(): Promise<void> {
    if (writes.length > 0) await write(() => {}).catch(() => {});
  }

  return { write, idle };
}
