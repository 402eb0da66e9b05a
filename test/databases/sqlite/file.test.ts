import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { textOf } from '../../orders/support/store-suite.js';
import { temporaryFile } from '../../support/temporary-file.js';
import { opened } from './support/opened.js';

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

test('a call with a value that no thread can be sent is rejected, and the calls beside it and after it are carried out', async (t) => {
  const { file, store } = opened(t);
  await store.put([{ id: 1 }, { id: 2 }, { id: 3 }]);
  const message = `cannot write ${file}: #<Promise> could not be cloned.`;
  const beside = Promise.all([
    store.cancel(1n),
    assert.rejects(store.cancel(Object(Promise.resolve(1n))), { name: 'SqliteFileError', message }),
    store.ship(1n),
  ]);
  assert.deepEqual(await beside, ['cancelled', undefined, 'already_cancelled']);
  assert.equal(await store.cancel(2n), 'cancelled');
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
