import { parentPort, workerData } from 'node:worker_threads';
import { prepare, type SqliteDatabase } from './database.js';
import { openSqliteDatabase } from './driver.js';
import { makeDurable, retryWhileBusy } from './durability.js';
import { type FailureKind, type FileOperation, failureOf } from './failure.js';
import { createWriteQueue, type WriteQueue } from './group-commit.js';
import { checkIdentities, identityOf } from './identity.js';
import { APPLICATION_ID } from './migration.js';

// Runs on the worker's thread, and carries out the calls that remote.ts sends.

/** The data that a worker receives at its start. */
export interface FileWorkerData {
  readonly file: string;
  /** Identifies the file. See `identityOf`. */
  readonly identity: string;
  readonly operation: Extract<FileOperation, 'read' | 'write'>;
}

/** A call of a method of one of the objects in the worker. Its answer has the same `id`. */
export interface WorkerCall {
  readonly id: number;
  readonly part: string;
  readonly method: string;
  readonly parameters: readonly unknown[];
}

/** A failure as a thread sends it. An Error object would arrive without its `kind`. */
interface SentFailure {
  readonly message: string;
  readonly kind: FailureKind;
}

export type WorkerAnswer = { readonly id: number } & ({ readonly value: unknown } | { readonly failure: SentFailure });

/** The object that every worker hosts, in addition to its own. */
export interface FilePart {
  readonly file: {
    /** Checks that the file can be read or, in the worker that writes, be written. */
    probe(): void;
  };
}

/** The database handles and the write queue of a worker, for the objects that it hosts. */
export interface Host {
  readonly database: SqliteDatabase;
  readonly queue: WriteQueue;
  openAnother(): SqliteDatabase;
}

/**
 * Hosts objects that read or write a database file, for the thread that has started this worker.
 * The file must be prepared already. The first call opens it. The methods of the objects take and
 * return plain data, or promises of it.
 */
export function hostParts(createParts: (host: Host) => object): void {
  const { file, identity, operation }: FileWorkerData = workerData;
  const identities = new Map<string, string | undefined>([[file, identity]]);
  let database: SqliteDatabase | undefined;
  let parts: object | undefined;
  let answers: WorkerAnswer[] = [];

  function open(): object {
    const opened = openSqliteDatabase(file);
    try {
      const select = prepare(opened, 'SELECT count(*) FROM sqlite_schema');
      const read = () => void select.get();
      // SQLite writes the page with this number even if the number stays the same.
      const write = () => void opened.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
      retryWhileBusy(opened, operation === 'read' ? read : () => makeDurable(opened));
      const own = createParts({
        database: opened,
        queue: createWriteQueue(opened),
        openAnother() {
          // If the file is away, SQLite would create an empty one and remove the log with its commits.
          checkIdentities(identities);
          return openSqliteDatabase(file);
        },
      });
      for (const suffix of ['-wal', '-shm']) identities.set(file + suffix, identityOf(file + suffix));
      database = opened;
      const filePart: FilePart = { file: { probe: operation === 'read' ? read : write } };
      return { ...own, ...filePart };
    } catch (error) {
      opened.close();
      throw error;
    }
  }

  function receive(calls: readonly WorkerCall[]): void {
    try {
      // Opening would create a missing file.
      checkIdentities(identities);
      parts ??= open();
      for (const one of calls) void call(parts, one);
    } catch (error) {
      for (const { id } of calls) answer({ id, failure: toSentFailure(error) });
    }
  }

  async function call(parts: object, { id, part, method, parameters }: WorkerCall): Promise<void> {
    try {
      answer({ id, value: await Object(parts)[part][method](...parameters) });
    } catch (error) {
      answer({ id, failure: toSentFailure(error) });
    }
  }

  /** Sends all answers of one commit in one message. */
  function answer(outcome: WorkerAnswer): void {
    if (answers.length === 0) queueMicrotask(sendAnswers);
    answers.push(outcome);
  }

  function sendAnswers(): void {
    let sending: readonly WorkerAnswer[] = answers;
    answers = [];
    try {
      // If a name no longer refers to the opened file, no result of that file may be used.
      checkIdentities(identities);
    } catch (error) {
      sending = sending.map(({ id }) => ({ id, failure: toSentFailure(error) }));
    }
    parentPort?.postMessage(sending);
  }

  function toSentFailure(error: unknown): SentFailure {
    const { message, kind } = failureOf(error, file, operation);
    return { message, kind };
  }

  parentPort?.on('message', (message: readonly WorkerCall[] | 'close') => {
    if (message !== 'close') {
      receive(message);
      return;
    }
    database?.close();
    parentPort?.close();
  });
}
