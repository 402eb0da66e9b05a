import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { IS_QUICK } from '../../support/sampled.js';
import { temporaryFile } from '../../support/temporary-file.js';

const LISTS = IS_QUICK ? 60 : 10_000;
const ORDERS = 600;
const DESCRIPTORS = '/proc/self/fd';

test(`reading ${LISTS} long lists, each after a change, leaves no file descriptor open and leaks no memory`, {
  skip: existsSync(DESCRIPTORS) ? false : `open descriptors are counted in ${DESCRIPTORS}: run this on Linux`,
}, async (t) => {
  const store = openSqliteOrderStore(temporaryFile());
  t.after(() => store.close());
  await store.put(Array.from({ length: ORDERS }, (_, id) => ({ id })));

  async function readChangedLists(lists: number) {
    for (let quantity = 0; quantity < lists; quantity++) {
      await store.put([{ id: 1, quantity }], { replace: true });
      for await (const page of await store.list()) assert.ok(page.length > ORDERS);
    }
    return { descriptors: readdirSync(DESCRIPTORS).length, megabytes: process.memoryUsage.rss() / 2 ** 20 };
  }

  const before = await readChangedLists(Math.min(LISTS, 500));
  const after = await readChangedLists(LISTS);
  t.diagnostic(JSON.stringify({ before, after }));
  assert.ok(after.descriptors <= before.descriptors);
  assert.ok(after.megabytes <= before.megabytes + 32);
});
