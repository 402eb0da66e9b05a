import { prepare, type SqliteDatabase } from './database.js';
import { isResult } from './failure.js';
import { checkNames } from './identity.js';
import { isOurs, migrate, type Schemas } from './migration.js';

/**
 * How long a statement waits for a lock while a file is opened, and how long opening may wait for
 * other processes. Many of them may open the file at the same time, on a machine that is busy.
 */
const OPEN_WAIT_MS = 250;
const OPEN_DEADLINE_MS = 20_000;

/** SQLite cuts the log to this size after a long reading or a large import. It usually needs half. */
const LOG_BYTES = 8 * 2 ** 20;

/**
 * Runs `work` on a handle that was just opened, and again while another process holds the lock of
 * the file. `busy_timeout` is not enough: if two processes switch a new file to WAL, SQLite fails
 * immediately, because each would wait for the other forever. Afterwards `busy_timeout` is 0,
 * because SQLite's waiting would block the event loop. Calls `onLocked` after each try.
 */
export function retryWhileBusy<T>(database: SqliteDatabase, work: () => T, onLocked = () => {}): T {
  const deadlineMs = performance.now() + OPEN_DEADLINE_MS;
  database.exec(`PRAGMA busy_timeout = ${OPEN_WAIT_MS}`);
  for (;;) {
    try {
      const result = work();
      database.exec('PRAGMA busy_timeout = 0');
      return result;
    } catch (error) {
      if (!isResult(error, 'busy') || performance.now() >= deadlineMs) throw error;
      onLocked();
    }
  }
}

/**
 * Prepares a file that was just opened: migrates its tables as {@link migrate} does, and makes its
 * commits durable. Throws, and changes nothing, in the same cases, and if {@link checkNames} does.
 */
export function prepareFile(database: SqliteDatabase, schemas: Schemas, onlyCreates = false): void {
  checkNames(String(prepare(database, 'PRAGMA database_list').get()?.['file']));
  retryWhileBusy(database, () => {
    // WAL comes first. A process killed while it creates tables would otherwise leave a rollback
    // journal, which would empty a backup copied over the file.
    if (!isOurs(database)) makeDurable(database);
    migrate(database, schemas, onlyCreates);
    makeDurable(database);
  });
}

/**
 * Makes commits durable: a commit that has returned survives a power cut. This needs a write-ahead
 * log and an fsync per commit. Throws if SQLite does not accept these settings. Accepts a database
 * in memory, which has nothing to lose.
 *
 * Also moves the log of an earlier process into the database, and starts a new log. If an fsync of
 * that process failed, the kernel may return frames of the log that never reach the disk. Commits
 * after such a frame would be lost at a power cut. (A process that keeps running is safe, because
 * SQLite writes those frames again.)
 */
export function makeDurable(database: SqliteDatabase): void {
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = FULL');
  database.exec(`PRAGMA journal_size_limit = ${LOG_BYTES}`);
  const journal = prepare(database, 'PRAGMA journal_mode').get()?.['journal_mode'];
  const synchronous = prepare(database, 'PRAGMA synchronous').get()?.['synchronous'];
  if (journal === 'memory') return;
  if (journal !== 'wal' || synchronous !== 2n) {
    throw new Error(
      `SQLite reports journal_mode=${journal}, synchronous=${synchronous} instead of wal, 2 (FULL); ` +
        'put the file on a local file system',
    );
  }
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}
