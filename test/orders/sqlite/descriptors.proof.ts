import { test } from 'node:test';
import { changedLists } from './support/changed-lists.js';

test('10,000 long lists, each read after a change, leave no file descriptor open and leak no memory', async (t) => {
  const { before, after } = await changedLists(t, 10_000);
  if (after.megabytes > before.megabytes + 32) throw new Error(`${before.megabytes} MB became ${after.megabytes}`);
});
