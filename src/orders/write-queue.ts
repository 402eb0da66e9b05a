import { isBusy, type SqliteDatabase, transaction } from './sqlite-database.js';

interface Write {
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
  let firstTriedMs: number | undefined;

  function flush(): void {
    const batch = writes;
    writes = [];
    try {
      transaction(database, () => {
        for (const write of batch) write.run();
      });
      for (const write of batch) write.resolve();
    } catch (error) {
      if (isBusy(error) && !isLate()) {
        writes = [...batch, ...writes];
        setTimeout(flush, LOCK_RETRY_MS);
        return;
      }
      if (isBusy(error) || batch.length === 1) for (const write of batch) write.reject(error);
      else for (const write of batch) runAlone(write);
    }
    firstTriedMs = undefined;
  }

  function isLate(): boolean {
    const nowMs = performance.now();
    firstTriedMs ??= nowMs;
    return nowMs - firstTriedMs >= LOCK_DEADLINE_MS;
  }

  function runAlone(write: Write): void {
    try {
      transaction(database, () => write.run());
      write.resolve();
    } catch (error) {
      write.reject(error);
    }
  }

  return {
    /** Resolves to what `work` returned in the run that is now committed; rejects if it could not be. */
    write<T>(work: () => T): Promise<T> {
      return new Promise((resolve, reject) => {
        let result: T;
        const run = () => {
          result = work();
        };
        if (writes.push({ run, resolve: () => resolve(result), reject }) === 1) setImmediate(flush);
      });
    },
  };
}
