import { prepare, type SqliteDatabase } from './database.js';
import { openSqliteDatabase } from './driver.js';
import { makeDurable, opening } from './durability.js';
import { type FailureKind, failureOf, SqliteFileError } from './failure.js';
import { createFileThread, type Reads, received, type SentFailure } from './file-thread.js';
import { identityOf } from './file-watch.js';
import type { WriteCall, WriteResult } from './group-commit.js';
import { migrate, type Schemas, schemaVersions } from './migration.js';
import { createWriteQueue, type WriteQueue } from './write-queue.js';

/**
 * Calls the function with this name on the thread that reads the database file. Resolves to its
 * result.
 */
export type Read<R extends Reads> = <Name extends keyof R & string>(
  name: Name,
  ...parameters: Parameters<R[Name]>
) => Promise<ReturnType<R[Name]>>;

/**
 * Calls functions on the thread that reads the database file. `read` resolves to the result of the
 * function. `tell` does not wait for a result.
 */
export interface FileReader<R extends Reads> {
  readonly read: Read<R>;
  tell<Name extends keyof R & string>(name: Name, ...parameters: Parameters<R[Name]>): void;
}

/**
 * A database file. Two other threads read and write it, so that the calling thread never waits for
 * the disk. Every failure is a {@link SqliteFileError}. If the disk hangs, a read fails after about
 * two seconds. A write fails after about three seconds, plus a millisecond for each record to
 * store. Later calls fail immediately until the disk responds again.
 */
export interface SqliteFile extends WriteQueue {
  /** Calls the read function of this name. {@link Read} declares its parameters and its result. */
  read(name: string, ...parameters: readonly unknown[]): Promise<never>;
  tell(name: string, ...parameters: readonly unknown[]): void;
  /**
   * Rejects unless the file can be read and written. If the last write failed, `probe` tries to
   * write. Otherwise it only checks the permission to write.
   */
  probe(): Promise<void>;
  /**
   * Waits for the writes requested so far, then ends both threads. If the disk does not respond,
   * rejects with a {@link SqliteFileError} of the kind `late`.
   */
  close(): Promise<void>;
}

const READ_DEADLINE_MS = 2_000;
/**
 * A write is allowed more time than a read, because an fsync of a busy disk takes a while. A
 * timeout of a write is also worse: the caller does not know whether the write was done.
 */
const WRITE_DEADLINE_MS = 3_000;
const RECORD_MS = 1;

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
  opening(database, () => {
    // Throws if this is another program's file.
    schemaVersions(database, schemas);
    // A killed process leaves no rollback journal beside a new file with tables. Otherwise, that
    // journal would empty a backup that is copied over the file.
    if (prepare(database, 'PRAGMA page_count').get()?.['page_count'] === 0n) makeDurable(database);
    migrate(database, schemas);
    makeDurable(database);
  });
}

/** Opens a file for work on this thread, and creates it if missing. The caller closes it. */
export function openPrepared(file: string, schemas: Schemas): { database: SqliteDatabase; identity: string } {
  const database = openSqliteDatabase(file);
  try {
    const identity = identityOf(file);
    prepareFile(database, schemas);
    if (identity === undefined || identity !== identityOf(file)) {
      throw new SqliteFileError(`${file} was replaced while it was being opened; try again`, 'moved');
    }
    return { database, identity };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Creates the two threads that read and write a prepared file. */
export function createSqliteFile(file: string, identity: string, modules: readonly string[]): SqliteFile {
  const reader = createFileThread({ file, identity, modules, operation: 'read' });
  const writer = createFileThread({ file, identity, modules, operation: 'write' });
  /** Why the last write failed, if it did. */
  let writeFailure: SqliteFileError | undefined;
  /** Damage that a call has found. It is never cleared, because a damaged page stays damaged. */
  let damage: SqliteFileError | undefined;

  function note(error: unknown): void {
    if (error instanceof SqliteFileError && error.kind === 'damaged') damage = error;
  }

  async function commit(calls: readonly WriteCall[]): Promise<readonly WriteResult[]> {
    try {
      const answers = (await writer.call('commit', [calls], writeDeadlineMs(calls))) as readonly WriteResult[];
      const results = answers.map(receivedResult);
      for (const result of results) if (result.outcome === 'failed') note(result.error);
      writeFailure = results.map(lastingFailureOf).find(Boolean);
      return results;
    } catch (error) {
      writeFailure = failureOf(error, file, 'write');
      throw error;
    }
  }

  async function ask(name: string, parameters: readonly unknown[]): Promise<unknown> {
    try {
      return await reader.call(name, parameters, READ_DEADLINE_MS);
    } catch (error) {
      note(error);
      throw error;
    }
  }

  const queue = createWriteQueue(commit);
  let probing: Promise<unknown> | undefined;

  /**
   * Commits a transaction that changes no table, but still writes to the file. Callers that ask for
   * it at the same time share one transaction.
   */
  function tryToWrite(): Promise<unknown> {
    probing ??= commit([{ name: 'touch', parameters: [] }]).finally(() => {
      probing = undefined;
    });
    return probing;
  }

  return {
    ...queue,
    // Callers use the type {@link Read}, which declares the type of each function's result.
    read: (name, ...parameters) => ask(name, parameters) as Promise<never>,
    tell: (name, ...parameters) => reader.tell(name, parameters),

    async probe() {
      if (damage !== undefined) throw damage;
      await ask('probe', []);
      if (writeFailure === undefined) return;
      await tryToWrite().catch(() => {});
      if (writeFailure !== undefined) throw writeFailure;
    },

    async close() {
      await queue.idle();
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

/**
 * Returns how long a write may take. Storing many records takes a while even on a disk that does
 * not hang.
 */
function writeDeadlineMs(calls: readonly WriteCall[]): number {
  let records = 0;
  for (const { parameters } of calls) {
    for (const value of parameters) records += recordsIn(value);
  }
  return WRITE_DEADLINE_MS + records * RECORD_MS;
}

/**
 * Returns how many records one parameter of a write contains: the length of an array, the property
 * `records` of an object, or 0 for anything else.
 */
function recordsIn(parameter: unknown): number {
  if (Array.isArray(parameter)) return parameter.length;
  return typeof parameter === 'object' && parameter !== null && 'records' in parameter ? Number(parameter.records) : 0;
}

function receivedResult(result: WriteResult): WriteResult {
  return result.outcome === 'committed' ? result : { ...result, error: received(result.error as SentFailure) };
}

function lastingFailureOf(result: WriteResult): SqliteFileError | undefined {
  if (result.outcome !== 'failed' || !(result.error instanceof SqliteFileError)) return undefined;
  return LASTING.includes(result.error.kind) ? result.error : undefined;
}
