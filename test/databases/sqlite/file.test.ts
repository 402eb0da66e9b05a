import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { temporaryFile } from '../../support/temporary-file.js';

test('close ends one thread after the other, so that the last one removes the write-ahead log', async (t) => {
  const events: string[] = [];
  const watch = (thread: Worker) => {
    const send = thread.postMessage.bind(thread);
    thread.postMessage = (message) => {
      if (message === 'close') events.push('close');
      send(message);
    };
    thread.once('exit', () => events.push('exit'));
  };
  process.on('worker', watch);
  t.after(() => process.off('worker', watch));
  const store = openSqliteOrderStore(temporaryFile());
  await store.put([{ id: 1 }]);
  await store.list();
  await store.close();
  assert.deepEqual(events, ['close', 'exit', 'close', 'exit']);
});
