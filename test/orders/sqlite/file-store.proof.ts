import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import type { Step } from '../../promises/durability/support/cancelling-process.js';
import { temporaryFile } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { textOf } from '../support/store-suite.js';

const MANY = 12_000;
const many = Array.from({ length: MANY }, (_, index) => ({ id: 2 * index, petId: index % 90 }));

async function openedWithMany(t: TestContext) {
  const file = temporaryFile();
  const store = openSqliteOrderStore(file);
  t.after(() => store.close());
  await store.put(many);
  return { file, store };
}

test('a long list is read from one snapshot, without orders that are put meanwhile, and delays no other reader', async (t) => {
  const { store } = await openedWithMany(t);
  async function* readAndPut() {
    let pages = 0;
    for await (const page of await store.list()) {
      yield page;
      if (++pages >= 10) continue;
      await store.put([{ id: 20_000 + 2 * pages + 1 }, { id: 4 * MANY + pages }]);
      assert.equal(JSON.parse(await textOf(await store.list())).length, MANY + 2 * pages);
    }
  }
  assert.equal(await textOf(readAndPut()), JSON.stringify(many));
});

test('openSqliteOrderStore rejects a database in memory, because the two connections of the store could not share it', () => {
  for (const file of [':memory:', '']) {
    const message = 'file: expected the name of a file; for a store in memory, use createMemoryOrderStore';
    assert.throws(() => openSqliteOrderStore(file), { name: 'TypeError', message });
  }
});

test('a list that is requested while the file is away leaves the log beside it, and the commits in the log', async (t) => {
  const { file, store } = await openedWithMany(t);
  const pages = await store.list();
  renameSync(file, `${file}.away`);
  await assert.rejects(textOf(pages), { kind: 'moved' });
  assert.deepEqual([existsSync(file), existsSync(`${file}-wal`)], [false, true]);
  renameSync(`${file}.away`, file);
  assert.equal(await store.cancel(0n), 'cancelled');
});

test('a list that ends because the file was moved away keeps no snapshot after the file is put back', async (t) => {
  const { file, store } = await openedWithMany(t);
  const reading = (await store.list())[Symbol.asyncIterator]();
  await reading.next();
  renameSync(file, `${file}.away`);
  await assert.rejects(async () => reading.next(), { kind: 'moved' });
  // The thread has been told to end the reading, while the file is still away.
  await assert.rejects(store.get(0n), { kind: 'moved' });
  renameSync(`${file}.away`, file);
  await store.put([{ id: 1n }]);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  const checkpoint = other.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
  await until(() => Object(checkpoint.get())['busy'] === 0);
});

test('of two processes that open the same new file, one puts the orders, and each order is cancelled by only one', async () => {
  const program = join(import.meta.dirname, '../../promises/durability/support/cancelling-process.ts');
  const steps: readonly Step[] = [{ put: [0, 100] }, { cancel: [0, 100], atOnce: 4 }];
  for (let round = 0; round < 5; round++) {
    const operands = ['--import', 'tsx', program, temporaryFile(), JSON.stringify(steps)];
    const outputs = [1, 2].map(() => text(spawn(process.execPath, operands).stdout));
    const lines = (await Promise.all(outputs)).join('').trim().split('\n').sort();
    const outcomes = ['already_cancelled', 'cancelled', 'exists', 'stored'];
    assert.deepEqual(
      lines.map((line) => line.split(' ')[0]),
      outcomes.flatMap((outcome) => Array(100).fill(outcome)),
    );
    assert.equal(new Set(lines).size, 400);
  }
});
