// A process that reads a long list again and again, each time after a change. It prints how many
// descriptors it has open and how much memory it uses, before and after.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { temporaryFile } from '../../../support/temporary-file.js';

const [lists = 0] = process.argv.slice(2).map(Number);
const ORDERS = 600;

const store = openSqliteOrderStore(temporaryFile());
await store.put(Array.from({ length: ORDERS }, (_, id) => ({ id })));

async function readChangedList(quantity: number): Promise<void> {
  await store.put([{ id: 1, quantity }], { replace: true });
  const listed = await store.list();
  assert.ok(Symbol.asyncIterator in listed);
  for await (const page of listed) assert.ok(page.length > ORDERS);
}

function held() {
  return { descriptors: readdirSync('/proc/self/fd').length, megabytes: process.memoryUsage.rss() / 2 ** 20 };
}

const warmUp = Math.min(lists, 500);
for (let list = 0; list < warmUp; list++) await readChangedList(list);
const before = held();
for (let list = 0; list < lists; list++) await readChangedList(list);
console.log(JSON.stringify({ before, after: held() }));
await store.close();
