import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { FileWorker } from '../../../dist/databases/sqlite/remote.js';

// A thread that the tests play. Its events in random orders: promises/interleavings/threads.test.ts.

interface Parts {
  readonly orders: { list(): Generator<number> };
}

/** Begins a list on a thread that runs and has not answered yet. `open()` tells whether its port is open. */
async function beginList() {
  const thread = Object.assign(new EventEmitter(), { ref() {}, unref() {}, postMessage() {} });
  const worker = new FileWorker<Parts>(() => Object(thread), { file: 'a.db', identity: '', isWriter: false });
  worker.start();
  thread.emit('message', []);
  const list = worker.callsFor(0).orders.list();
  list.catch(() => {});
  await nextTurn();
  let isOpen = true;
  const items = {
    postMessage() {},
    close() {
      isOpen = false;
    },
  };
  return { thread, worker, list, open: () => isOpen, answer: () => thread.emit('message', [{ id: 1, items }]) };
}

test('a list whose thread ends before its first page is requested fails with it, and is not late', async () => {
  const { thread, list, answer, open } = await beginList();
  answer();
  const items = await list;
  thread.emit('exit', 0);
  await assert.rejects(items.next(), { kind: 'other', message: 'cannot read a.db: its worker thread ended' });
  assert.ok(!open());
});

test('a list that is answered after its deadline is closed, because nobody will read it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { list, answer, open } = await beginList();
  t.mock.timers.tick(3_000);
  await assert.rejects(list, { kind: 'late' });
  answer();
  assert.ok(!open());
});

test('close reports the error of a thread that fails meanwhile, and not a disk that is late', async () => {
  const { thread, worker, list, answer } = await beginList();
  answer();
  await (await list).return(undefined);
  const closed = worker.close();
  thread.emit('error', new Error('disk I/O error'));
  const message = 'cannot read a.db: its worker thread failed: disk I/O error';
  await assert.rejects(closed, { kind: 'other', message });
});

test('a thread that does not start, or whose module is missing, is not reported as a disk', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const failureOf = async (url: URL, waitsMs: number): Promise<unknown> => {
    const file = { file: 'a.db', identity: '', isWriter: false };
    const worker = new FileWorker<{ orders: { get(): void } }>((options) => new Worker(url, options), file);
    const thread = worker.start();
    t.after(() => thread.terminate());
    const call = worker
      .callsFor(0)
      .orders.get()
      .catch((error: Error) => error.message);
    t.mock.timers.tick(waitsMs);
    return call;
  };
  const advice =
    'if the program is bundled, leave store-orders out of the bundle: see "Bundlers" in examples/README.md';
  const silent = new URL('data:text/javascript,setInterval(() => {}, 1_000)');
  assert.equal(await failureOf(silent, 60_000), `cannot read a.db: its thread does not start; ${advice}`);
  const missing = new URL('missing.js', import.meta.url);
  assert.equal(
    await failureOf(missing, 0),
    `cannot read a.db: its worker thread failed: Cannot find module '${fileURLToPath(missing)}'; ${advice}`,
  );
});
