import { isResult, prepare, type SqliteDatabase, type SqliteValue } from './database.js';

/** How long opening waits for other processes that open or write the same file, and how long at a time. */
const OPEN_DEADLINE_MS = 2_000;
const OPEN_WAIT_MS = 250;

/**
 * Runs `work` on a handle just opened, again while other processes hold the lock. SQLite's own waiting is not enough:
 * where two processes that switch a new file to WAL would wait for each other, it does not wait. Afterwards SQLite no
 * longer waits at all, because that blocks the event loop (better-sqlite3 has it wait for 5 s unless told). It waits
 * long enough that trying again is rare: libsql may leave a statement that failed open, and the next try fails for that.
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
 * Makes an answered commit survive a power cut: write-ahead log, and an fsync per commit (drivers default to
 * `synchronous=NORMAL`, which has none). Reads both settings back and throws if SQLite did not take them. A database
 * in memory has nothing to lose and is let pass.
 *
 * Also moves what a former process left in the log into the database and starts the log again. If an fsync of that
 * process failed, the kernel may show frames that are not on disk and never will be, and after a power cut SQLite reads
 * the log up to the first frame that is missing: what is committed behind it would be lost. (A process that goes on
 * after a failed fsync is safe: SQLite writes those frames again.)
 */
export function makeDurable(database: SqliteDatabase): void {
  database.exec('PRAGMA journal_mode = WAL');
  const journal = prepare(database, 'PRAGMA journal_mode').get()?.['journal_mode'];
  const synchronous = syncEveryCommit(database);
  if (journal === 'memory') return;
  if (journal !== 'wal' || synchronous !== 2n) {
    throw new Error(
      `database: SQLite answered journal_mode=${journal}, synchronous=${synchronous} instead of wal, 2 (FULL); ` +
        'put the file on a local file system',
    );
  }
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** Has each commit of this handle wait for its fsync, and answers with the level that SQLite then says: 2n, FULL. */
export function syncEveryCommit(database: SqliteDatabase): SqliteValue | undefined {
  database.exec('PRAGMA synchronous = FULL');
  return prepare(database, 'PRAGMA synchronous').get()?.['synchronous'];
}
