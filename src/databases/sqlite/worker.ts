import { types } from 'node:util';
import { MessageChannel, type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { type Call, invoke, type Methods } from './calls.js';
import { prepare, type SqliteDatabase } from './database.js';
import { loadDriver, openSqliteDatabase } from './driver.js';
import { makeDurable, retryWhileBusy } from './durability.js';
import { type FileOperation, failureOf, type SqliteFileError } from './failure.js';
import { createWriteQueue, type WriteQueue } from './group-commit.js';
import { checkIdentities, identityOf } from './identity.js';
import { APPLICATION_ID } from './migration.js';

// Runs on the worker's thread, and carries out the calls that remote.ts sends.

/** The data that a worker receives at its start. */
export interface FileWorkerData {
  readonly file: string;
  /** Identifies the file. See `identityOf`. */
  readonly identity: string;
  readonly isWriter: boolean;
}

/**
 * If a call returns a generator, each message on the port `items` is the id of a call for one item. A
 * failure is sent as an object, because an Error would arrive without its `kind`.
 */
export type WorkerAnswer = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly items: MessagePort }
  | { readonly failure: Pick<SqliteFileError, 'message' | 'kind'> }
);

/** The object that every worker runs, in addition to its own. */
export interface FilePart {
  readonly file: {
    /** Checks that the file can be read or, in the worker that writes, be written. */
    probe(): void;
  };
}

/** The database handles and the write queue of a worker, for the objects that it runs. */
export interface OpenFile {
  readonly database: SqliteDatabase;
  readonly queue: WriteQueue;
  openAnother(): SqliteDatabase;
}

export function operationOf({ isWriter }: FileWorkerData): FileOperation {
  return isWriter ? 'write' : 'read';
}

/**
 * Runs objects that read or write a database file, for the thread that has started this worker.
 * The file must be prepared already. The first call opens it. The methods of the objects take and
 * return plain data, or promises of it, or a generator of it. Bytes that they return or generate
 * are moved, so their buffer must not be used for anything else.
 */
export function runParts<Parts extends Methods<Parts>>(createParts: (file: OpenFile) => Parts): void {
  const data: FileWorkerData = workerData;
  const identities = new Map<string, string | undefined>([[data.file, data.identity]]);
  let opened: ReturnType<typeof open<Parts>> | undefined;
  let answers: WorkerAnswer[] = [];

  function receive(calls: readonly Call<Parts & FilePart>[]): void {
    try {
      // Opening would create a missing file.
      checkIdentities(identities);
      opened ??= open(data, identities, createParts);
      const { parts } = opened;
      for (const call of calls) answer(call.id, () => invoke<Parts & FilePart>(parts, call));
    } catch (error) {
      for (const { id } of calls) answer(id, () => Promise.reject(error));
    }
  }

  async function answer(id: number, run: () => unknown): Promise<void> {
    let settled: WorkerAnswer;
    try {
      const value = await run();
      settled = types.isGeneratorObject(value) ? { id, items: openPort(value) } : { id, value };
    } catch (error) {
      settled = failed(id, error);
    }
    if (answers.length === 0) queueMicrotask(send);
    answers.push(settled);
  }

  /** Sends all answers of one commit in one message. */
  function send(): void {
    let sent: readonly WorkerAnswer[] = answers;
    answers = [];
    try {
      // If a name no longer refers to the opened file, no result of that file may be used.
      checkIdentities(identities);
    } catch (error) {
      sent = sent.map(({ id }) => failed(id, error));
    }
    parentPort?.postMessage(sent, sent.flatMap(movedWith));
  }

  function failed(id: number, error: unknown): WorkerAnswer {
    const { message, kind } = failureOf(error, data.file, operationOf(data));
    return { id, failure: { message, kind } };
  }

  function openPort(items: Generator): MessagePort {
    const { port1, port2 } = new MessageChannel();
    port1.on('message', (id: number) => answer(id, () => items.next().value));
    port1.on('close', () => items.return(undefined));
    port1.unref();
    return port2;
  }

  parentPort?.on('message', (message: readonly Call<Parts & FilePart>[] | 'close') => {
    if (message !== 'close') return receive(message);
    try {
      // libsql may keep the file open, and then loses a log that has been removed.
      if (data.isWriter) opened?.database.exec('PRAGMA wal_checkpoint');
    } catch {
      // A log that is still beside the file stays, and the next process that opens the file reads it.
    }
    opened?.database.close();
    // Ends this thread only. The ports of Deno have no `close`.
    process.exit();
  });
  // Before the first message, with which the deadlines for the disk begin.
  loadDriver();
  reportRunning();
}

/** Returns what is moved to the other thread instead of being copied. */
function movedWith(answer: WorkerAnswer): (MessagePort | ArrayBuffer)[] {
  if ('items' in answer) return [answer.items];
  const buffer = 'value' in answer && types.isUint8Array(answer.value) && answer.value.buffer;
  return types.isArrayBuffer(buffer) ? [buffer] : [];
}

/** Tells the other thread that this one runs, so that no disk is to blame for a call that waits. */
function reportRunning(): void {
  parentPort?.postMessage([]);
}

/** Opens the file, and creates the objects. Adds its other files to `identities`. */
function open<Parts>(
  { file, isWriter }: FileWorkerData,
  identities: Map<string, string | undefined>,
  createParts: (file: OpenFile) => Parts,
) {
  const database = openSqliteDatabase(file);
  try {
    const read = () => void prepare(database, 'SELECT count(*) FROM sqlite_schema').get();
    // SQLite writes the page with this number even if the number stays the same.
    const write = () => void database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    retryWhileBusy(database, isWriter ? () => makeDurable(database) : read, reportRunning);
    const own = createParts({
      database,
      queue: createWriteQueue(database, { onLocked: reportRunning }),
      openAnother() {
        // In the place of a moved file, SQLite would create an empty one, and remove the log.
        checkIdentities(identities);
        return openSqliteDatabase(file);
      },
    });
    for (const name of [`${file}-wal`, `${file}-shm`]) identities.set(name, identityOf(name));
    const filePart: FilePart = { file: { probe: isWriter ? write : read } };
    return { database, parts: { ...own, ...filePart } };
  } catch (error) {
    database.close();
    throw error;
  }
}
