import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { FileWorker } from '../../../dist/databases/sqlite/remote.js';
import { textOf } from '../../orders/support/store-suite.js';
import { root } from '../../support/root.js';
import { opened } from './support/opened.js';

// Events of a thread in random orders: promises/interleavings/threads.test.ts.

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

test('each of two closes waits for the call in flight and for the end of the thread', async () => {
  const { thread, worker, list, answer } = await beginList();
  const closed = [worker.close(), worker.close()];
  answer();
  await (await list).return(undefined);
  thread.emit('exit', 0);
  await Promise.all(closed);
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

test('a thread has a minute to start, and then 3 s for each answer, also for the first, which opens the file', async (t) => {
  const waits: unknown[] = [];
  const { setTimeout } = globalThis;
  t.mock.method(globalThis, 'setTimeout', (...parameters: Parameters<typeof setTimeout>) => {
    waits.push(parameters[1]);
    return setTimeout(...parameters);
  });
  const { store } = opened(t);
  await store.cancel(1n);
  await store.cancel(1n);
  assert.deepEqual(waits, [60_000, 3_000, 3_000]);
});

test('while another connection holds the write lock, reads do not wait, and writes that wait for it are not late, also the first of a thread', async (t) => {
  const { file, store, threads } = opened(t);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  other.exec("INSERT INTO orders (id, status) VALUES (1, 'pending'), (2, 'pending')");
  for (const id of [1n, 2n]) {
    other.exec('BEGIN IMMEDIATE');
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const cancelled = store.cancel(id);
    await nextTurn();
    for (let wait = 0; wait < 3; wait++) {
      await once(threads[1] ?? assert.fail(), 'message');
      t.mock.timers.tick(2_999);
    }
    assert.equal((await store.get(id))?.status, 'pending');
    other.exec('COMMIT');
    assert.equal(await cancelled, 'cancelled');
    t.mock.timers.reset();
  }
});

test('while another connection locks the whole file, as the last one does that closes it, the first read and the first write wait', {
  skip:
    process.getBuiltinModule('node:sqlite') === undefined && 'libsql keeps closed files open: use Node 22.13 or newer',
}, async (t) => {
  const { file, store, threads } = opened(t);
  const other = openSqliteDatabase(file);
  other.exec("PRAGMA locking_mode = EXCLUSIVE; INSERT INTO orders (id, status) VALUES (1, 'pending')");
  const settled = Promise.allSettled([store.get(1n), store.cancel(1n)]);
  await nextTurn();
  // The first message of a thread reports that it runs, and the next that it has found the lock.
  const waiting = threads.map(async (thread) => {
    for (let message = 0; message < 2; message++) await once(thread, 'message');
  });
  await Promise.race([settled, ...waiting]);
  other.close();
  const [read, written] = await settled;
  assert.equal(read.status, 'fulfilled');
  assert.deepEqual(written, { status: 'fulfilled', value: 'cancelled' });
});

test('while a thread hangs, reads do not wait; a write is late after 3 s, plus 1 ms for each record, and then every write until the thread responds', async (t) => {
  const { file, store, threads } = opened(t);
  await store.put([{ id: 1 }]);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  // The write waits, and the thread gives no sign of life.
  other.exec('BEGIN IMMEDIATE');
  const emit = t.mock.method(threads[1] ?? assert.fail(), 'emit', () => true);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let isLate = false;
  const put = store.put([{ id: 2 }, { id: 3 }]).finally(() => (isLate = true));
  await nextTurn();
  t.mock.timers.tick(3_001);
  assert.equal(await textOf(await store.list()), '[{"id":1}]');
  assert.equal((await store.get(1n))?.status, 'pending');
  assert.ok(!isLate);
  t.mock.timers.tick(1);
  const message = `cannot write ${file}: its disk has not responded in time; check the disk`;
  for (const call of [() => put, () => store.cancel(1n)]) {
    await assert.rejects(call, { name: 'SqliteFileError', kind: 'late', message });
  }
  emit.mock.restore();
  other.exec('COMMIT');
  while ((await store.cancel(1n).catch(({ kind }) => kind)) === 'late') await nextTurn();
  assert.equal((await store.get(1n))?.status, 'cancelled');
});

test('calls that are made together are answered in one message', async (t) => {
  const { store, threads } = opened(t);
  await store.put(Array.from({ length: 64 }, (_, id) => ({ id })));
  let messages = 0;
  threads[1]?.on('message', () => messages++);
  await Promise.all(Array.from({ length: 64 }, (_, id) => store.cancel(BigInt(id))));
  assert.equal(messages, 1);
});

test('calls that wait behind a long put are not late', async (t) => {
  const { store } = opened(t);
  await store.put([{ id: -1 }]);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const put = (first: number) => store.put(Array.from({ length: 1_000 }, (_, index) => ({ id: first + index })));
  // During each put, the clock jumps: less than a put may take, and more than a cancel may take.
  // Both jumps together are more than a put may take.
  const first = put(0);
  await nextTurn();
  const [second, cancelled] = [put(1_000), store.cancel(-1n)];
  t.mock.timers.tick(3_999);
  assert.equal((await first).outcome, 'stored');
  t.mock.timers.tick(3_999);
  assert.equal((await second).outcome, 'stored');
  assert.equal(await cancelled, 'cancelled');
});

test('an answer that comes with its deadline is in time, a call that hangs behind it is late, the next thread is not, and a store that is closed meanwhile does not keep the process alive', () => {
  // After its first answer, the thread stops like one that waits for a disk.
  const script = `
    import { mock } from 'node:test';
    import { Worker } from 'node:worker_threads';
    import { FileWorker } from './dist/databases/sqlite/remote.js';
    const thread = "import { parentPort, workerData } from 'node:worker_threads';" +
      "const { answers } = workerData; parentPort.on('message', ([{ id }]) => {" +
      "  parentPort.postMessage([{ id, value: 'cancelled' }]);" +
      "  Atomics.store(answers, 0, 1); Atomics.notify(answers, 0); Atomics.wait(answers, 0, 1, 60_000);" +
      "});";
    const url = new URL('data:text/javascript,' + encodeURIComponent(thread));
    const answers = new Int32Array(new SharedArrayBuffer(4));
    const worker = new FileWorker((options) => new Worker(url, options), { file: 'a.db', identity: '', isWriter: true, answers });
    const call = worker.callsFor(0);
    const timeout = mock.method(AbortSignal, 'timeout');
    mock.timers.enable({ apis: ['setTimeout'] });
    const outcomes = [];
    const note = (call) => call.then((value) => outcomes.push(value), ({ kind }) => outcomes.push(kind));
    let started;
    process.on('worker', (thread) => (started = thread));
    const [first, second] = [call.orders.cancel(1n), call.orders.cancel(2n)].map(note);
    await new Promise(setImmediate);
    // The answer and the deadline of the first call come while this thread is busy.
    Atomics.wait(answers, 0, 0);
    mock.timers.tick(3_000);
    await first;
    await new Promise(setImmediate);
    outcomes.push('waiting');
    mock.timers.tick(3_000);
    await second;
    await started.terminate();
    const [third, , closed] = [call.orders.cancel(3n), call.orders.cancel(4n), worker.close()].map(note);
    await third;
    mock.timers.tick(3_000);
    await closed;
    console.log(outcomes.join(), timeout.mock.calls[0].arguments[0]);
    // Without the listener, the event loop would also wait for the thread to end.
    process.on('exit', () => process.kill(process.pid, 'SIGKILL'));`;
  const options = { cwd: root, encoding: 'utf8', timeout: 30_000 } as const;
  const { signal, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], options);
  assert.deepEqual([signal, stdout], ['SIGKILL', 'cancelled,waiting,late,cancelled,late,late 0\n']);
});
