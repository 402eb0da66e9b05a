import type { Remote } from './calls.js';
import { createPrivately, loadDriver, withDatabase } from './driver.js';
import { prepareFile } from './durability.js';
import { failureOf } from './failure.js';
import { identityOf } from './identity.js';
import type { Schemas } from './migration.js';
import { FileWorker, type StartThread } from './remote.js';
import type { FilePart } from './worker.js';

/**
 * A database file. Two workers run the same objects on it: one for reads, one for writes, so that
 * a read never waits for an fsync, and this thread never waits for the disk. Every failure is a
 * {@link SqliteFileError}. If the disk hangs, a call fails after about three seconds, and later calls
 * fail immediately until the disk responds again.
 */
export interface SqliteFile<Parts> {
  readonly reader: Remote<Parts>;
  readonly writer: Remote<Parts>;
  /** Returns the writer for a call that stores many records. Each may take a millisecond more. */
  writerFor(records: number): Remote<Parts>;
  /** Rejects unless the file can be read. If the last write failed, also tries to write. */
  probe(): Promise<void>;
  /**
   * Waits for the calls made so far, then ends both workers. If the disk does not respond, rejects
   * with a {@link SqliteFileError} of the kind `late`.
   */
  close(): Promise<void>;
}

/**
 * Opens a file and creates it if missing. `startThread` starts a worker that runs `Parts`. Throws a
 * {@link SqliteFileError} if the file cannot be opened or prepared.
 */
export function openSqliteFile<Parts>(startThread: StartThread, file: string, schemas: Schemas): SqliteFile<Parts> {
  loadDriver();
  createPrivately(file);
  const identity = identityOf(file) ?? '';
  const reader = new FileWorker<Parts & FilePart>(startThread, { file, identity, isWriter: false });
  const writer = new FileWorker<Parts & FilePart>(startThread, { file, identity, isWriter: true });
  try {
    // The thread starts while this one prepares the file.
    reader.start();
    withDatabase(file, (database) => prepareFile(database, schemas));
  } catch (error) {
    reader.close().catch(() => {});
    throw failureOf(error, file, 'open');
  }
  const reads = reader.callsFor(0);
  const writes = writer.callsFor(0);
  return {
    reader: reads,
    writer: writes,
    writerFor: (records) => writer.callsFor(records),

    async probe() {
      for (const { lastFailure } of [reader, writer]) if (lastFailure?.kind === 'damaged') throw lastFailure;
      await reads.file.probe();
      if (writer.lastFailure !== undefined) await writes.file.probe();
    },

    // The last to close removes the log. If both closed together, neither would be the last.
    close: () => reader.close().finally(() => writer.close()),
  };
}
