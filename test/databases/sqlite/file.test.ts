import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { textOf } from '../../orders/support/store-suite.js';
import { root } from '../../support/root.js';
import { temporaryFile } from '../../support/temporary-file.js';

/** Opens a store over a new file, and closes it after the test. `threads` are those that it has started. */
function opened(t: TestContext, onStart: (thread: Worker) => void = () => {}) {
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

test('close ends one thread after the other, so that the last one removes the write-ahead log; then every call is rejected', async (t) => {
  // Threads that other tests have started are announced late.
  await nextTurn();
  const events: string[] = [];
  const { store } = opened(t, (thread) => {
    const send = thread.postMessage.bind(thread);
    thread.postMessage = (message) => {
      if (message === 'close') events.push('close');
      send(message);
    };
    thread.once('exit', () => events.push('exit'));
  });
  await store.put([{ id: 1 }]);
  await store.list();
  await store.close();
  assert.deepEqual(events, ['close', 'exit', 'close', 'exit']);
  for (const call of [() => store.cancel(1n), () => store.get(1n), () => store.probe()]) {
    await assert.rejects(call, /^SqliteFileError: cannot (?:read|write) .+: it is closed already$/);
  }
});

test('after the writing thread has failed or ended, a probe tries to write', async (t) => {
  const { file, store, threads } = opened(t);
  await nextTurn();
  assert.equal(threads.length, 1, 'the thread that reads has started already');
  await store.put([{ id: 1 }]);
  for (const [why, end] of [
    ['failed: out of memory', () => threads.at(-1)?.emit('error', new Error('out of memory'))],
    ['ended', () => threads.at(-1)?.terminate()],
  ] as const) {
    const message = `cannot write ${file}: its worker thread ${why}`;
    const rejected = assert.rejects(store.cancel(1n), { name: 'SqliteFileError', kind: 'other', message });
    end();
    await rejected;
  }
  assert.equal(threads.length, 2);
  await store.probe();
  assert.equal(threads.length, 3);
  // The write of that probe succeeded, so a further probe only reads.
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  await store.probe();
});

test('after a read has found damage, every probe reports it, even if later reads succeed', async (t) => {
  const file = temporaryFile();
  const first = openSqliteOrderStore(file);
  await first.put(Array.from({ length: 2_500 }, (_, id) => ({ id })));
  await first.close();
  const database = openSqliteDatabase(file);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  const bytes = readFileSync(file);
  const page = bytes.lastIndexOf('pending') & ~0xfff;
  writeFileSync(file, bytes.fill(0xff, page, page + 4_096));
  const store = openSqliteOrderStore(file);
  t.after(() => store.close());
  await store.probe();
  await assert.rejects(async () => textOf(await store.list()), { kind: 'damaged' });
  assert.equal((await store.get(0n))?.status, 'pending');
  await assert.rejects(store.probe(), { kind: 'damaged' });
});

test('a call that is rejected before it is sent, because its thread has ended, starts no other thread', async (t) => {
  const { store, threads } = opened(t);
  await store.put([{ id: 1 }]);
  const writer = threads.at(-1);
  const rejected = assert.rejects(store.cancel(1n), /its worker thread ended$/);
  writer?.emit('exit', 0);
  await rejected;
  await nextTurn();
  await writer?.terminate();
  assert.equal(threads.length, 2);
  assert.equal((await store.get(1n))?.status, 'pending');
});

test('a list whose thread ends fails with its next page, and the next list is read by a new thread', async (t) => {
  const { file, store, threads } = opened(t);
  const orders = Array.from({ length: 2_500 }, (_, id) => ({ id }));
  await store.put(orders);
  const pages = (await store.list())[Symbol.asyncIterator]();
  await pages.next();
  await threads[0]?.terminate();
  const message = `cannot read ${file}: its worker thread ended`;
  await assert.rejects(async () => pages.next(), { name: 'SqliteFileError', kind: 'other', message });
  assert.equal(await textOf(await store.list()), JSON.stringify(orders));
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

test('a log that has grown while another connection read shrinks with the writes after that', async (t) => {
  const { file, store } = opened(t);
  await store.put([{ id: 1 }, { id: 2 }, { id: 3 }]);
  const megabytes = () => statSync(`${file}-wal`).size / 2 ** 20;
  const [reader, writer] = [openSqliteDatabase(file), openSqliteDatabase(file)];
  for (const other of [reader, writer]) t.after(() => other.close());
  reader.exec('BEGIN');
  reader.prepare('SELECT id FROM orders').all();
  writer.exec('CREATE TABLE large AS SELECT zeroblob(9000000)');
  await store.cancel(1n);
  assert.ok(megabytes() > 8);
  reader.exec('COMMIT');
  // With the first of these, SQLite copies the log into the database, and with the second it reuses the log.
  for (const id of [2n, 3n]) await store.cancel(id);
  assert.ok(megabytes() <= 8);
});

for (const suffix of ['-wal', '-shm']) {
  test(`once its file ${suffix} is removed, every call fails, and close saves the changes that were acknowledged`, async (t) => {
    const { file, store } = opened(t);
    await store.put([{ id: 1 }, { id: 2 }]);
    assert.equal(await store.cancel(1n), 'cancelled');
    await store.get(1n);
    rmSync(file + suffix);
    const message = `${file}${suffix} was moved or removed while in use; put it back, or stop the server without killing it, so that it saves the log, which it still has open`;
    for (const call of [() => store.cancel(2n), () => store.get(1n), () => store.probe()]) {
      await assert.rejects(call, { name: 'SqliteFileError', kind: 'moved', message });
    }
    await store.close();
    copyFileSync(file, `${file}.saved`);
    const saved = openSqliteOrderStore(`${file}.saved`);
    t.after(() => saved.close());
    assert.equal((await saved.get(1n))?.status, 'cancelled');
  });
}

test('calls that are made together are answered in one message', async (t) => {
  const { store, threads } = opened(t);
  await store.put(Array.from({ length: 64 }, (_, id) => ({ id })));
  let messages = 0;
  threads[1]?.on('message', () => messages++);
  await Promise.all(Array.from({ length: 64 }, (_, id) => store.cancel(BigInt(id))));
  assert.equal(messages, 1);
});

test('a call with a value that no thread can be sent is rejected, and later calls are carried out', async (t) => {
  const { file, store } = opened(t);
  await store.put([{ id: 1 }]);
  const message = `cannot write ${file}: #<Promise> could not be cloned.`;
  await assert.rejects(store.cancel(Object(Promise.resolve(1n))), { name: 'SqliteFileError', message });
  assert.equal(await store.cancel(1n), 'cancelled');
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
