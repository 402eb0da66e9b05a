import { isResult, prepare, type SqliteDatabase, type SqliteValue } from './database.js';

/**
 * How long opening a file may wait in total while other processes use it. SQLite waits for at most
 * `OPEN_WAIT_MS` at a time.
 */
const OPEN_DEADLINE_MS = 2_000;
const OPEN_WAIT_MS = 250;

/**
 * Runs `work` on a handle that was just opened. Runs it again if another process holds the lock of
 * the file. When two processes switch a new file to WAL, each would wait for the other forever, so
 * SQLite fails immediately in spite of `busy_timeout`.
 *
 * Each attempt waits for up to `OPEN_WAIT_MS`, so that retries are rare. After a failed attempt,
 * libsql may leave a statement open, and then the next attempt fails too. After `work`,
 * `busy_timeout` is set to 0, because SQLite's waiting would block the event loop.
 */
export function retryWhileBusy(database: SqliteDatabase, work: () => void): void {
  const deadlineMs = performance.now() + OPEN_DEADLINE_MS;
  database.exec(`PRAGMA busy_timeout = ${OPEN_WAIT_MS}`);
  for (;;) {
    try {
      work();
      break;
    } catch (error) {
      if (!isResult(error, 'busy') || performance.now() >= deadlineMs) throw error;
    }
  }
  database.exec('PRAGMA busy_timeout = 0');
}

/**
 * Makes commits durable: after a commit has returned, it survives a power cut. This needs a
 * write-ahead log and an fsync per commit. (With the drivers' default, `synchronous=NORMAL`,
 * commits have no fsync of their own.) Throws if SQLite does not accept these settings. Accepts a
 * database in memory, which has nothing to lose.
 *
 * Also moves the log of an earlier process into the database, and starts a new log. If an fsync of
 * that process failed, the kernel may return frames of the log that are not on disk and never will
 * be. After a power cut, SQLite reads the log only up to the first missing frame, and loses the
 * commits after that frame. (A process that keeps running after a failed fsync is safe, because
 * SQLite writes those frames again.)
 */
export function makeDurable(database: SqliteDatabase): void {
  database.exec('PRAGMA journal_mode = WAL');
  const journal = prepare(database, 'PRAGMA journal_mode').get()?.['journal_mode'];
  const synchronous = syncEveryCommit(database);
  if (journal === 'memory') return;
  if (journal !== 'wal' || synchronous !== 2n) {
    throw new Error(
      `database: SQLite reports journal_mode=${journal}, synchronous=${synchronous} instead of wal, 2 (FULL); ` +
        'put the file on a local file system',
    );
  }
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/**
 * Makes each commit of this handle wait for its fsync. Returns the value of `synchronous` that
 * SQLite then reports. It should be 2n (FULL).
 */
export function syncEveryCommit(database: SqliteDatabase): SqliteValue | undefined {
  database.exec('PRAGMA synchronous = FULL');
  return prepare(database, 'PRAGMA synchronous').get()?.['synchronous'];
}
