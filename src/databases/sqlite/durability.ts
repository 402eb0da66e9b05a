import { isResult, prepare, type SqliteDatabase, type SqliteValue } from './database.js';

/**
 * How long opening a file waits in total for other processes that use it. SQLite waits for at most
 * `OPEN_WAIT_MS` at a time.
 */
const OPEN_DEADLINE_MS = 2_000;
const OPEN_WAIT_MS = 250;

/**
 * Runs `work` on a handle that was just opened, and retries while other processes hold the lock.
 * SQLite's own waiting is not enough: if two processes that switch a new file to WAL would wait for
 * each other, SQLite fails at once. Each wait is long, so that retries are rare, because libsql may
 * leave a failed statement open, and then the next attempt fails too. After `work`, SQLite's
 * waiting is turned off, because it would block the event loop (better-sqlite3 sets 5 s by
 * default).
 */
export function opening(database: SqliteDatabase, work: () => void): void {
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
 * Makes an acknowledged commit survive a power cut, by a write-ahead log and an fsync per commit
 * (drivers default to `synchronous=NORMAL`, without an fsync per commit). Reads `journal_mode` and
 * `synchronous` back, and throws if SQLite did not accept them. A database in memory has nothing to
 * lose and is accepted as it is.
 *
 * Also moves the log of an earlier process into the database, and starts a new log. If an fsync of
 * that process failed, the kernel may return frames of the log that are not on disk and never will
 * be. After a power cut, SQLite reads the log only up to the first missing frame, so commits after
 * that frame would be lost. (A process that keeps running after a failed fsync is safe, because
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
 * Makes each commit of this handle wait for its fsync. Returns the level that SQLite then reports,
 * which should be 2n (FULL).
 */
export function syncEveryCommit(database: SqliteDatabase): SqliteValue | undefined {
  database.exec('PRAGMA synchronous = FULL');
  return prepare(database, 'PRAGMA synchronous').get()?.['synchronous'];
}
