import { parentPort, workerData } from 'node:worker_threads';
import { makeDurable, opening, type SqliteDatabase } from './database.js';
import { openSqliteDatabase } from './driver.js';
import { commitTogether, type WriteCall, type WriteResult, type Writes } from './write-batch.js';
import type { WriteThreadData } from './write-thread.js';

// The other side of write-thread.ts.

const { file, modules }: WriteThreadData = workerData;
const database = openSqliteDatabase(file);
opening(database, () => makeDurable(database));

const loaded: { prepareWrites(database: SqliteDatabase): Writes }[] = await Promise.all(
  modules.map((url) => import(url)),
);
const writes: Writes = Object.assign({}, ...loaded.map(({ prepareWrites }) => prepareWrites(database)));

parentPort?.on('message', (message: readonly WriteCall[] | 'close') => {
  if (message !== 'close') {
    parentPort?.postMessage(commitTogether(database, writes, message).map(sendable));
    return;
  }
  database.close();
  parentPort?.close();
});

/** libsql's and better-sqlite3's errors are no native ones, and would arrive as objects without a message. */
function sendable(result: WriteResult): WriteResult {
  if (result.outcome === 'committed' || !(result.error instanceof Error)) return result;
  return { ...result, error: new Error(result.error.message) };
}
