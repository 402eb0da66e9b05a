import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSnapshotReader } from '../../../dist/orders/postgres/list-connections.js';

test('at most four lists are read at once, each in a transaction; a further one fails after 5 s; a list that fails or ends early closes its connection', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [asked, destroyed]: [string[], unknown[]] = [[], []];
  const readSnapshot = createSnapshotReader(async () => ({
    async query({ text }) {
      asked.push(text);
      return { rows: [] };
    },
    release: (destroy) => void destroyed.push(destroy),
  }));
  const readers = Array.from({ length: 6 }, () =>
    readSnapshot(async function* () {
      yield 'page';
    }),
  );
  const pages = readers.map((reader) => reader.next());
  await Promise.all(pages.slice(0, 4));
  const failed = assert.rejects(async () => pages[5], { message: 'every connection for long lists is in use' });
  t.mock.timers.tick(4_999);
  await assert.rejects(async () => readers[0]?.throw(new Error('no answer')), /no answer/);
  assert.deepEqual(await pages[4], { done: false, value: 'page' });
  t.mock.timers.tick(1);
  await failed;
  await readers[1]?.next();
  await Promise.all(readers.map((reader) => reader.return(undefined)));
  assert.deepEqual(destroyed, [true, false, true, true, true]);
  const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
  assert.deepEqual(asked, [...Array(5).fill(begin), 'COMMIT']);
});
