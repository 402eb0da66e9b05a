import type { TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { temporaryFile } from '../../../support/temporary-file.js';

/** Opens a store over a new file, and closes it after the test. `threads` are those that it has started. */
export function opened(t: TestContext, onStart: (thread: Worker) => void = () => {}) {
  const threads: Worker[] = [];
  const noteThread = (thread: Worker) => {
    // The thread that Node.js starts for tsx may be announced too. Nothing listens to that one.
    if (thread.listenerCount('message') === 0) return;
    threads.push(thread);
    onStart(thread);
  };
  process.on('worker', noteThread);
  t.after(() => process.off('worker', noteThread));
  const file = temporaryFile();
  const store = openSqliteOrderStore(file);
  t.after(() => store.close());
  return { file, store, threads };
}
