import { accessSync, constants } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { prepare, type SqliteDatabase } from './database.js';
import { openSqliteDatabase } from './driver.js';
import { makeDurable, retryWhileBusy } from './durability.js';
import { type FailureKind, type FileOperation, failureOf } from './failure.js';
import { checkIdentity, createIdentityCheck } from './identity.js';
import { APPLICATION_ID } from './migration.js';

// The side of remote.ts that runs on the worker's thread.

/** The data that a worker receives at its start. */
export interface FileWorkerData {
  readonly file: string;
  /** Identifies the file. See `identityOf`. */
  readonly identity: string;
  readonly operation: Extract<FileOperation, 'read' | 'write'>;
}

/** A call of a method of one of the objects in the worker. */
export interface WorkerCall {
  /** Identifies the call in its answer. */
  readonly id: number;
  readonly part: string;
  readonly method: string;
  readonly parameters: readonly unknown[];
}

/**
 * A failure in the form in which a thread sends it. An Error object would arrive without its
 * `kind`.
 */
export interface SentFailure {
  readonly message: string;
  readonly kind: FailureKind;
}

export type WorkerAnswer = { readonly id: number } & ({ readonly value: unknown } | { readonly failure: SentFailure });

/** The object that every worker hosts, in addition to those of `createParts`. */
export interface FilePart {
  /** Throws unless the file can be read, and its permissions allow to write it. */
  probe(): void;
  /** Writes to the file without changing anything. */
  touch(): void;
}

interface OpenFile {
  readonly database: SqliteDatabase;
  readonly parts: object;
  /** Throws if the name no longer refers to the file that was opened. */
  check(): void;
}

/**
 * Hosts objects that read or write a database file, for the thread that has started this worker.
 * The file must be prepared already. It is opened by the first call. The methods of the objects
 * take and return plain data, or promises of it. A `Uint8Array` that a method returns is moved to
 * the other thread, so it must own its memory.
 */
export function hostParts(createParts: (database: SqliteDatabase, openAnother: () => SqliteDatabase) => object): void {
  const { file, identity, operation }: FileWorkerData = workerData;
  let open: OpenFile | undefined;
  /** Whether the last check succeeded. If it did, the next calls are checked only afterwards. */
  let isThere = false;
  let answers: WorkerAnswer[] = [];

  function openFile(): OpenFile {
    // Opening would create a missing file, so the file's identity is checked first.
    checkIdentity(file, identity);
    const database = openSqliteDatabase(file);
    try {
      const select = prepare(database, 'SELECT count(*) FROM sqlite_schema');
      retryWhileBusy(database, operation === 'read' ? () => select.get() : () => makeDurable(database));
      const filePart: FilePart = {
        probe() {
          select.get();
          try {
            accessSync(file, constants.W_OK);
          } catch (error) {
            throw failureOf(error, file, 'write');
          }
        },
        // SQLite writes the page with this number even if the number stays the same.
        touch: () => void database.exec(`PRAGMA application_id = ${APPLICATION_ID}`),
      };
      const parts = { ...createParts(database, () => openSqliteDatabase(file)), file: filePart };
      return { database, parts, check: createIdentityCheck(file, identity) };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  function receive(calls: readonly WorkerCall[]): void {
    try {
      open ??= openFile();
      if (!isThere) open.check();
      for (const one of calls) void call(open.parts, one);
    } catch (error) {
      for (const { id } of calls) answer({ id, failure: sent(error) });
    }
  }

  async function call(parts: object, { id, part, method, parameters }: WorkerCall): Promise<void> {
    try {
      const called: unknown = Reflect.get(Object(Reflect.get(parts, part)), method);
      if (typeof called !== 'function') throw new TypeError(`the worker has no ${part}.${method}`);
      answer({ id, value: await Reflect.apply(called, undefined, parameters) });
    } catch (error) {
      answer({ id, failure: sent(error) });
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
      // If the name no longer refers to the opened file, no result of that file may be used.
      open?.check();
      isThere = true;
    } catch (error) {
      isThere = false;
      sending = sending.map(({ id }) => ({ id, failure: sent(error) }));
    }
    parentPort?.postMessage(sending, sending.flatMap(memoryOf));
  }

  function sent(error: unknown): SentFailure {
    const { message, kind } = failureOf(error, file, operation);
    return { message, kind };
  }

  parentPort?.on('message', (message: readonly WorkerCall[] | 'close') => {
    if (message !== 'close') {
      receive(message);
      return;
    }
    open?.database.close();
    parentPort?.close();
  });
}

/** Returns the memory that is moved to the other thread with the answer. */
function memoryOf(answer: WorkerAnswer): readonly ArrayBuffer[] {
  if (!('value' in answer) || !(answer.value instanceof Uint8Array)) return [];
  return answer.value.buffer instanceof ArrayBuffer ? [answer.value.buffer] : [];
}
