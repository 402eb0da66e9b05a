import { publishCommit } from '../../commits.js';
import { createPrivately, openSqliteDatabase } from './driver.js';
import { prepareFile } from './durability.js';
import type { SqliteFileError } from './failure.js';
import { identityOf } from './identity.js';
import type { Schemas } from './migration.js';
import { createFileWorker, type Remote } from './remote.js';
import type { FilePart } from './worker.js';

/**
 * A database file. Two workers host the same objects on it: one for reads, one for writes, so that
 * a read never waits for an fsync, and this thread never waits for the disk. Every failure is a
 * {@link SqliteFileError}. If the disk hangs, a call fails after about three seconds, plus a
 * millisecond for each record to store. Later calls fail immediately until the disk responds again.
 */
export interface SqliteFile<Parts> {
  readonly reader: Remote<Parts>;
  readonly writer: Remote<Parts>;
  /** Rejects unless the file can be read. If the last write failed, also tries to write. */
  probe(): Promise<void>;
  /**
   * Waits for the calls made so far, then ends both workers. If the disk does not respond, rejects
   * with a {@link SqliteFileError} of the kind `late`.
   */
  close(): Promise<void>;
}

/**
 * Opens a file and creates it if missing. `worker` is the module of the workers that host `Parts`.
 * `check` runs before the file is prepared. Throws if the file cannot be opened or prepared.
 */
export function openSqliteFile<Parts>(
  worker: URL,
  file: string,
  schemas: Schemas,
  check?: () => void,
): SqliteFile<Parts> {
  createPrivately(file);
  const identity = identityOf(file) ?? '';
  /** Damage that a call has found. It is never cleared, because a damaged page stays damaged. */
  let damage: SqliteFileError | undefined;
  let hasFailedToWrite = false;

  const reader = createFileWorker<Parts & FilePart>(worker, { file, identity, operation: 'read' }, noteDamage);
  const writer = createFileWorker<Parts & FilePart>(worker, { file, identity, operation: 'write' }, (failures) => {
    noteDamage(failures);
    const committed = failures.filter((failure) => failure === undefined).length;
    hasFailedToWrite = committed < failures.length;
    if (committed > 0) publishCommit(committed);
  });

  // The thread starts while this one prepares the file.
  reader.start();
  try {
    check?.();
    prepareAt(file, schemas);
  } catch (error) {
    reader.close().catch(() => {});
    throw error;
  }

  function noteDamage(failures: readonly (SqliteFileError | undefined)[]): void {
    damage ??= failures.find((failure) => failure?.kind === 'damaged');
  }

  return {
    reader: reader.call,
    writer: writer.call,

    async probe() {
      if (damage !== undefined) throw damage;
      await reader.call.file.probe();
      if (hasFailedToWrite) await writer.call.file.probe();
    },

    async close() {
      // The last to close removes the log. If both closed together, neither would be the last.
      try {
        await reader.close();
      } finally {
        await writer.close();
      }
    },
  };
}

function prepareAt(file: string, schemas: Schemas): void {
  const database = openSqliteDatabase(file);
  try {
    prepareFile(database, schemas);
  } finally {
    database.close();
  }
}
