import { test } from 'node:test';
import { changedLists } from './support/changed-lists.js';

test('60 long lists, each read after a change, leave no file descriptor open', async (t) => {
  await changedLists(t, 60);
});
