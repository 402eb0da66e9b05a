import { publishCommit } from '../../commits.js';
import { prepare, type SqliteDatabase } from './database.js';
import { openSqliteDatabase } from './driver.js';
import { makeDurable, retryWhileBusy } from './durability.js';
import { type FailureKind, SqliteFileError } from './failure.js';
import { identityOf } from './identity.js';
import { migrate, type Schemas, schemaVersions } from './migration.js';
import { createFileWorker, type Remote } from './remote.js';
import type { FilePart } from './worker.js';

/**
 * A database file. Two workers host the same objects on it: one for reads, one for writes, so that
 * a read never waits for an fsync, and this thread never waits for the disk. Every failure is a
 * {@link SqliteFileError}. If the disk hangs, a read fails after about two seconds. A write fails
 * after about three seconds, plus a millisecond for each record to store. Later calls fail
 * immediately until the disk responds again.
 */
export interface SqliteFile<Parts> {
  readonly reader: Remote<Parts>;
  readonly writer: Remote<Parts>;
  /**
   * Rejects unless the file can be read and written. If the last write failed, `probe` tries to
   * write. Otherwise it only checks the permission to write.
   */
  probe(): Promise<void>;
  /**
   * Waits for the calls made so far, then ends both workers. If the disk does not respond, rejects
   * with a {@link SqliteFileError} of the kind `late`.
   */
  close(): Promise<void>;
}

/**
 * Failures that last until an operator fixes them. `busy` is not one of them: it ends when the
 * other process releases its lock.
 */
const LASTING: readonly FailureKind[] = ['read_only', 'io', 'full', 'cannot_open', 'moved', 'late'];

/**
 * Prepares a file that was just opened: migrates its tables to the newest version, and makes its
 * commits durable.
 */
export function prepareFile(database: SqliteDatabase, schemas: Schemas): void {
  retryWhileBusy(database, () => {
    // Throws if this is another program's file.
    schemaVersions(database, schemas);
    // Switches an empty file to WAL before it gets tables. A killed process then leaves no rollback
    // journal beside a file with tables. Such a journal would empty a backup copied over the file.
    if (prepare(database, 'PRAGMA page_count').get()?.['page_count'] === 0n) makeDurable(database);
    migrate(database, schemas);
    makeDurable(database);
  });
}

/**
 * Opens a file and creates it if missing. `worker` is the module of the workers that host `Parts`.
 * Throws if the file cannot be opened or prepared.
 */
export function openSqliteFile<Parts>(worker: URL, file: string, schemas: Schemas): SqliteFile<Parts> {
  const identity = prepareNamed(file, schemas);
  /** Why the last write failed, if it did. */
  let writeFailure: SqliteFileError | undefined;
  /** Damage that a call has found. It is never cleared, because a damaged page stays damaged. */
  let damage: SqliteFileError | undefined;

  function note(failures: readonly (SqliteFileError | undefined)[]): void {
    damage ??= failures.find((failure) => failure?.kind === 'damaged');
  }

  const reader = createFileWorker<Parts & { file: FilePart }>(worker, { file, identity, operation: 'read' }, note);
  const writer = createFileWorker<Parts & { file: FilePart }>(
    worker,
    { file, identity, operation: 'write' },
    (failures) => {
      note(failures);
      writeFailure = failures.find((failure) => failure !== undefined && LASTING.includes(failure.kind));
      const committed = failures.filter((failure) => failure === undefined).length;
      if (committed > 0) publishCommit(committed);
    },
  );

  return {
    reader: reader.call,
    writer: writer.call,

    async probe() {
      if (damage !== undefined) throw damage;
      await reader.call.file.probe();
      if (writeFailure === undefined) return;
      await writer.call.file.touch().catch(() => {});
      if (writeFailure !== undefined) throw writeFailure;
    },

    async close() {
      // One after the other: SQLite removes the write-ahead log when the last connection closes. If
      // both close at the same time, neither is the last.
      try {
        await reader.close();
      } finally {
        await writer.close();
      }
    },
  };
}

/** Prepares the file with this name, and returns its identity. */
function prepareNamed(file: string, schemas: Schemas): string {
  const database = openSqliteDatabase(file);
  try {
    const identity = identityOf(file);
    prepareFile(database, schemas);
    if (identity === undefined || identity !== identityOf(file)) {
      throw new SqliteFileError(`${file} was replaced while it was being opened; try again`, 'moved');
    }
    return identity;
  } finally {
    database.close();
  }
}
