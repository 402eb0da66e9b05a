import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { type TestContext, test } from 'node:test';
import { createSnapshotReader } from '../../../dist/orders/postgres/list-connections.js';
import { createDeferred } from '../../support/until.js';

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

/** Opens lists of three pages. Five at a time are one more than connections for them. */
function openLists(t: TestContext, page = 'page', lastPages = Promise.resolve()) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const counts = { pages: 0, open: 0 };
  const contexts: unknown[] = [];
  const customers = new AsyncLocalStorage<string>();
  const readSnapshot = createSnapshotReader(async () => {
    counts.open++;
    return { query: async () => ({ rows: [] }), release: () => void counts.open-- };
  });
  function open(name: string) {
    return customers.run(name, () =>
      readSnapshot(async function* () {
        for (let n = 1; n <= 3; n++) {
          if (n === 3) await lastPages;
          if (name === 'sad' && n === 3) throw new Error('lost');
          counts.pages++;
          contexts.push(customers.getStore());
          yield `${name} ${n} ${page}`;
        }
      }),
    );
  }

  /** Takes the first pages of lists, one after the other. */
  async function take(...names: string[]) {
    const lists = names.map(open);
    for (const [index, list] of lists.entries()) {
      await customers.run(names[index] ?? '', () => list.next());
      t.mock.timers.tick(1);
    }
    return lists;
  }

  /** Opens a list that has to wait, and waits until it has a connection. */
  function takeLate(name: string) {
    const list = open(name);
    return { list, first: customers.run(name, () => list.next()) };
  }

  return { counts, contexts, take, takeLate };
}

async function restOf(list: AsyncIterable<string>): Promise<string> {
  const pages = [];
  for await (const page of list) pages.push(page.slice(0, 5));
  return pages.join();
}

test('while a list waits for a connection, the one whose caller is slow for longest is read ahead, in its own context', async (t) => {
  const { counts, contexts, take, takeLate } = openLists(t);
  const lists = await take('ann', 'bob', 'cid', 'dan');
  t.mock.timers.tick(60_000);
  assert.deepEqual(counts, { pages: 4, open: 4 }, 'nothing is read ahead while no list waits');
  assert.equal((await lists[0]?.next())?.value, 'ann 2 page');
  t.mock.timers.tick(100);
  const { list, first } = takeLate('eve');
  t.mock.timers.tick(499);
  assert.equal(counts.pages, 5);
  t.mock.timers.tick(1);
  assert.equal((await first).value, 'eve 1 page');
  assert.deepEqual(counts, { pages: 8, open: 4 });
  assert.deepEqual(contexts.slice(-3), ['bob', 'bob', 'eve']);
  const rests = await Promise.all([...lists, list].map(restOf));
  assert.deepEqual(rests, ['ann 3', ...['bob', 'cid', 'dan', 'eve'].map((name) => `${name} 2,${name} 3`)]);
  assert.equal(counts.open, 0);
});

test('no list whose caller takes each page within 100 ms is read ahead', async (t) => {
  const { counts, take, takeLate } = openLists(t);
  const lists = await take('ann', 'bob', 'cid', 'dan');
  const { list, first } = takeLate('eve');
  t.mock.timers.tick(450);
  for (const each of lists) await each.next();
  t.mock.timers.tick(99);
  for (const each of lists) await each.next();
  assert.equal(counts.pages, 12);
  const whole = restOf(list);
  await Promise.all(lists.map(restOf));
  assert.equal((await first).value, 'eve 1 page');
  assert.equal(await whole, 'eve 2,eve 3');
});

test('a list that waits frees one connection, and the next one none until that is free', async (t) => {
  const { promise: lastPages, resolve } = createDeferred();
  const { counts, take, takeLate } = openLists(t, 'page', lastPages);
  const lists = await take('ann', 'bob', 'cid', 'dan');
  const { first: eve } = takeLate('eve');
  const failed = assert.rejects(eve, { message: 'every connection for long lists is in use' });
  t.mock.timers.tick(5_000);
  await failed;
  const { list, first } = takeLate('fay');
  t.mock.timers.tick(4_999);
  await new Promise(setImmediate);
  assert.deepEqual(counts, { pages: 5, open: 4 }, 'one list is being read ahead');
  resolve();
  assert.equal((await first).value, 'fay 1 page');
  await Promise.all([...lists, list].map(restOf));
  assert.deepEqual(counts, { pages: 15, open: 0 });
});

test('of more than 32 MB that are read ahead, the list with the most left ends with an error, and never as if it were whole', async (t) => {
  const { counts, take, takeLate } = openLists(t, 'x'.repeat(2 ** 23));
  const lists = await take('ann', 'bob', 'cid', 'dan');
  const late = [];
  // Two pages of 8 MB of each are left. The third list is one too many.
  for (const name of ['eve', 'fay', 'gus']) {
    const { list, first } = takeLate(name);
    t.mock.timers.tick(500);
    await first;
    late.push(list);
    if (name === 'eve') assert.equal((await lists[0]?.next())?.value?.slice(0, 5), 'ann 2');
  }
  assert.equal(counts.open, 4);
  const ends = await Promise.allSettled([...lists, ...late].map(restOf));
  const cut = ends.flatMap((end, index) => (end.status === 'rejected' ? [`${index} ${end.reason.message}`] : []));
  assert.deepEqual(cut, ['1 The list was cut off, because its slow client had the most left while others waited.']);
  assert.equal(counts.open, 0);
});

test('what was read ahead of a caller that stops is dropped, and a list that fails meanwhile ends with its error', async (t) => {
  const { counts, take, takeLate } = openLists(t, 'x'.repeat(2 ** 23));
  const lists = await take('ann', 'bob', 'sad', 'dan');
  const late = [];
  for (const index of [0, 1, 2, 3]) {
    const { list, first } = takeLate('eve');
    t.mock.timers.tick(500);
    await first;
    late.push(list);
    if (index < 2) {
      await lists[index]?.next();
      await lists[index]?.return(undefined);
    }
  }
  const [, , sad, dan] = lists;
  assert.equal((await sad?.next())?.value?.slice(0, 5), 'sad 2');
  await assert.rejects(async () => sad?.next(), /lost/);
  for (const list of late) await list.return(undefined);
  assert.equal(dan && (await restOf(dan)), 'dan 2,dan 3');
  assert.equal(counts.open, 0);
});
