import type { SqliteDatabase } from './database.js';
import { openSqliteDatabase } from './driver.js';
import { makeDurable, opening } from './durability.js';
import { type FailureKind, failureOf, SqliteFileError } from './failure.js';
import { createFileThread, type Reads, received, type SentFailure } from './file-thread.js';
import { identityOf } from './file-watch.js';
import type { WriteCall, WriteResult } from './group-commit.js';
import { migrate, type Schemas } from './migration.js';
import { createWriteQueue, type WriteQueue } from './write-queue.js';

/** Resolves to what the named function returned. */
export type Read<R extends Reads> = <Name extends keyof R & string>(
  name: Name,
  ...parameters: Parameters<R[Name]>
) => Promise<ReturnType<R[Name]>>;

/** Reads with an answer and without one, which are done however late. */
export interface FileReader<R extends Reads> {
  readonly read: Read<R>;
  tell<Name extends keyof R & string>(name: Name, ...parameters: Parameters<R[Name]>): void;
}

/**
 * A database file that is read and written on threads of their own: this thread waits for no disk. Every failure is a
 * {@link SqliteFileError}; while the disk hangs a read fails within two seconds and a write within three, and a
 * millisecond more for each record of a list of them; then at once.
 */
export interface SqliteFile extends WriteQueue {
  /** A {@link Read} of whatever reads there are. */
  read(name: string, ...parameters: readonly unknown[]): Promise<never>;
  tell(name: string, ...parameters: readonly unknown[]): void;
  /** Resolves if the file can be read and, as far as is known without writing, written. After a failed write it writes. */
  probe(): Promise<void>;
  /** Rejects as `late` if the disk does not answer. */
  close(): Promise<void>;
}

const READ_DEADLINE_MS = 2_000;
/** An fsync of a busy disk takes a while. After a time-out the caller does not know what is written. */
const WRITE_DEADLINE_MS = 3_000;
const RECORD_MS = 1;

/** What stays so until somebody sees to it. A lock is not: it is another process's. */
const LASTING: readonly FailureKind[] = ['read_only', 'io', 'full', 'cannot_open', 'moved', 'late'];

/** Brings the tables of a file that was just opened to their newest version, and makes it durable. */
export function prepareFile(database: SqliteDatabase, schemas: Schemas): void {
  opening(database, () => {
    migrate(database, schemas);
    makeDurable(database);
  });
}

/** Opens a file, created if absent, for work on this thread. The caller closes it. */
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

/** Works on a file that is prepared, from threads. */
export function createSqliteFile(file: string, identity: string, modules: readonly string[]): SqliteFile {
  const reader = createFileThread({ file, identity, modules, operation: 'read' });
  const writer = createFileThread({ file, identity, modules, operation: 'write' });
  /** Why the last write failed. */
  let writeFailure: SqliteFileError | undefined;
  /** A damaged page stays damaged. */
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

  /** Commits nothing, which is written all the same. One at a time, for all who ask. */
  function tryToWrite(): Promise<unknown> {
    probing ??= commit([{ name: 'touch', parameters: [] }]).finally(() => {
      probing = undefined;
    });
    return probing;
  }

  return {
    ...queue,
    // What the function of this name returns is what comes back for it.
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
      const ends = await Promise.allSettled([reader.close(), writer.close()]);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
  };
}

/** Many records take a while on a disk that does not hang. */
function writeDeadlineMs(calls: readonly WriteCall[]): number {
  let records = 0;
  for (const { parameters } of calls) {
    for (const value of parameters) records += recordsIn(value);
  }
  return WRITE_DEADLINE_MS + records * RECORD_MS;
}

/** Of a list of records, or of what says how many it is about. */
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
