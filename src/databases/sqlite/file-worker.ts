import { accessSync, constants } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { prepare, type SqliteDatabase } from './database.js';
import { openSqliteDatabase } from './driver.js';
import { makeDurable, opening } from './durability.js';
import { failureOf, type Operation, type SqliteFileError } from './failure.js';
import type { FileThreadData, Reads, SentFailure, ThreadAnswer, ThreadCall } from './file-thread.js';
import { checkIdentity, createFileWatch } from './file-watch.js';
import { commitTogether, type WriteCall, type WriteResult, type Writes } from './group-commit.js';

// The part of file-thread.ts that runs on the thread itself.

interface FileModule {
  prepareReads?(database: SqliteDatabase, openAnother: () => SqliteDatabase): Reads;
  prepareWrites?(database: SqliteDatabase): Writes;
}

interface OpenFile {
  readonly database: SqliteDatabase;
  readonly functions: Reads;
  /** Throws if the name no longer refers to the file that was opened. */
  check(): void;
}

const { file, identity, operation, modules }: FileThreadData = workerData;
const loaded: readonly FileModule[] = await Promise.all(modules.map((url) => import(url)));
let open: OpenFile | undefined;

function openFile(): OpenFile {
  // Opening would create a missing file, so the file's identity is checked first.
  checkIdentity(file, identity);
  const database = attempt('open', () => openSqliteDatabase(file));
  try {
    const isReader = operation === 'read';
    opening(database, isReader ? () => prepare(database, SOMETHING).get() : () => makeDurable(database));
    return {
      database,
      functions: isReader ? readsOf(database) : writesOf(database),
      check: createFileWatch(file, identity),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

const SOMETHING = 'SELECT count(*) FROM sqlite_schema';

function readsOf(database: SqliteDatabase): Reads {
  const reads = loaded.map(({ prepareReads }) => prepareReads?.(database, () => openSqliteDatabase(file)));
  const something = prepare(database, SOMETHING);
  return Object.assign({}, ...reads, {
    probe() {
      attempt('write', () => accessSync(file, constants.W_OK));
      something.get();
    },
  });
}

function writesOf(database: SqliteDatabase): Reads {
  const writes: Writes = Object.assign({ touch() {} }, ...loaded.map(({ prepareWrites }) => prepareWrites?.(database)));
  return {
    commit: (calls: readonly WriteCall[]) => commitTogether(database, writes, calls).map(sendable),
  };
}

/**
 * Whether the last check found that the file's name still refers to the opened file. If it did, the
 * next write is checked only afterwards. A read is always checked beforehand.
 */
let isThere = false;

function call({ name, parameters }: ThreadCall): unknown {
  open ??= openFile();
  if (operation === 'read' || !isThere) check(open);
  const value = Reflect.apply(open.functions[name] ?? unknownFunction, undefined, parameters);
  // After a write, checks that the name still refers to the file that was written.
  if (operation === 'write') check(open);
  return value;
}

function check(opened: OpenFile): void {
  isThere = false;
  opened.check();
  isThere = true;
}

function unknownFunction(): never {
  throw new TypeError('there is no function of this name');
}

function attempt<T>(doing: Operation, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw failureOf(error, file, doing);
  }
}

function answerTo(message: ThreadCall): Omit<ThreadAnswer, 'id'> {
  try {
    return { value: attempt(operation, () => call(message)) };
  } catch (error) {
    return { failure: sent(failureOf(error, file, operation)) };
  }
}

function sent({ message, kind }: SqliteFileError): SentFailure {
  return { message, kind };
}

function sendable(result: WriteResult): WriteResult {
  return result.outcome === 'committed' ? result : { ...result, error: sent(failureOf(result.error, file, 'write')) };
}

parentPort?.on('message', (message: ThreadCall | 'close') => {
  if (message === 'close') {
    open?.database.close();
    parentPort?.close();
    return;
  }
  const answer = answerTo(message);
  if (message.id !== undefined) parentPort?.postMessage({ ...answer, id: message.id });
});
