import { parentPort, workerData } from 'node:worker_threads';
import { makeDurable, opening, type SqliteDatabase } from './sqlite-database.js';
import { openSqliteDatabase } from './sqlite-driver.js';
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
    parentPort?.postMessage(commitTogether(database, writes, message).map(toSend));
    return;
  }
  database.close();
  parentPort?.close();
});

/** An error of a class that a driver brought would arrive without its message. */
function toSend(result: WriteResult): WriteResult {
  return result.outcome !== 'committed' && result.error instanceof Error
    ? { ...result, error: new Error(result.error.message) }
    : result;
}
