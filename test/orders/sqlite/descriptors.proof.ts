import { test } from 'node:test';
import { changedLists } from './support/changed-lists.js';

test('reading 10,000 long lists, each after a change, leaves no file descriptor open and leaks no memory', async (t) => {
  const { before, after } = await changedLists(t, 10_000);
  if (after.megabytes > before.megabytes + 32) throw new Error(`${before.megabytes} MB became ${after.megabytes}`);
});
