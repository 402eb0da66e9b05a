import { test } from 'node:test';
import { changedLists } from './support/changed-lists.js';

test('reading 60 long lists, each after a change, leaves no file descriptor open', async (t) => {
  await changedLists(t, 60);
});
