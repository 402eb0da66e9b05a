import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { ListedOrders, Order } from 'store-orders';
import { fakeStore, pagesOf } from '../../support/fake-store.js';
import { collectGarbage, MIB, mebibytes } from '../../support/memory.js';
import { createDeferred, until } from '../../support/until.js';
import { assertError } from '../support/answer.js';
import { KEY, ORDERS } from '../support/shop.js';
import { openShop, WAYS } from '../support/ways.js';
import { createAsker, createReadings, settled } from './support/asker.js';
import { createStorage } from './support/storage.js';

const PAGES: readonly Order[][] = [[{ id: 1n }, { id: 2n }], [], [{ id: 3n }]];
const SERIALIZED = '[{"id":1},{"id":2},{"id":3}]';

/** Creates a store of pages with a version, which are read once `opened` resolves. */
function createPagedStore(pages: readonly (readonly Order[] | Error)[], opened = Promise.resolve()) {
  const counts = { lists: 0, readings: 0, version: 1 };
  const list = () => {
    counts.lists++;
    return {
      version: counts.version,
      async *[Symbol.asyncIterator]() {
        counts.readings++;
        await opened;
        yield* pagesOf(pages);
      },
    };
  };
  return { store: fakeStore({ list }), counts };
}

for (const way of WAYS) {
  test(`each version of the pages is read only once for all requests, even if they come while it is read (${way.name})`, async (t) => {
    const { promise: opened, resolve: open } = createDeferred();
    const { store, counts } = createPagedStore(PAGES, opened);
    const { ask } = await openShop(t, way, { store });
    const early = [ask('GET', ORDERS, [KEY]), ask('GET', ORDERS, [KEY]), ask('HEAD', ORDERS, [KEY])];
    await until(() => counts.lists === 3);
    open();
    for (const { status, text, fields } of [...(await Promise.all(early)), await ask('GET', ORDERS, [KEY])]) {
      assert.deepEqual([status, fields.get('content-length')], [200, `${SERIALIZED.length}`]);
      assert.ok(text === SERIALIZED || text === '');
    }
    assert.equal(counts.readings, 1);
    counts.version++;
    assert.equal((await ask('GET', ORDERS, [KEY])).text, SERIALIZED);
    assert.equal(counts.readings, 2);
  });

  test(`if versioned pages fail, even after the first page, the response is a 503, and the next request reads them again (${way.name})`, async (t) => {
    for (const pages of [[new Error('the file is gone')], [[{ id: 1n }], new Error('the file is gone')]]) {
      const { store, counts } = createPagedStore(pages);
      const { ask } = await openShop(t, way, { store });
      for (const field of [
        ['If-None-Match', '"x"'],
        ['Accept-Encoding', 'gzip'],
      ] as const) {
        assertError(await ask('GET', ORDERS, [KEY, field]), 'service_unavailable');
      }
      assert.equal(counts.readings, 2);
    }
  });
}

test('one version is read at a time; requests that wait ask again when it ends, and share the newest version', async () => {
  const { pages, begun, versions, mostAtOnce } = createReadings();
  let version = 1;
  const ask = createAsker(() => pages(version));
  const replies = [ask(), ask()];
  await until(() => begun.length === 1);
  for (version of [2, 3, 4]) replies.push(ask(), ask());
  await settled();
  begun[0]?.go();
  await until(() => begun.length === 2);
  begun[1]?.go();
  const texts = (await Promise.all(replies)).map(({ text }) => text);
  assert.deepEqual(
    texts,
    [1, 1, 4, 4, 4, 4, 4, 4].map((id) => `[{"id":${id}}]`),
  );
  assert.deepEqual([versions(), mostAtOnce()], [[1, 4], 1]);
});

test('each tenant of a store whose versions differ by tenant gets its own list, whatever waits beside it', async () => {
  const tenants = createStorage<number>();
  const { pages, begun, mostAtOnce } = createReadings();
  const ask = createAsker(() => pages(tenants.getStore() ?? 0));
  const asked = [1, 2, 3, 4, 2, 3].map((tenant) => tenants.run(tenant, () => ask(`${tenant}`)));
  const replies = Promise.all(asked).then((all) => all.map(({ text }) => text));
  for (let reading = 0; reading < 4; reading++) {
    await until(() => begun.length > reading);
    begun[reading]?.go();
  }
  assert.deepEqual(
    await replies,
    [1, 2, 3, 4, 2, 3].map((id) => `[{"id":${id}}]`),
  );
  assert.deepEqual([begun.length, mostAtOnce()], [4, 1]);
});

test('many requests that wait for lists of different versions ask the store a few times each', async () => {
  const tenants = createStorage<number>();
  let calls = 0;
  const ask = createAsker(async () => {
    calls++;
    const version = tenants.getStore() ?? 0;
    return Object.assign(Readable.from([`{"id":${version}}`]), { version });
  });
  const texts = await Promise.all(Array.from({ length: 200 }, (_, tenant) => tenants.run(tenant, () => ask())));
  assert.ok(texts.every(({ text }, tenant) => text === `[{"id":${tenant}}]`));
  assert.ok(calls < 20 * 200, `${calls} calls`);
});

test('a list is never older than its request, although an older answer of the store comes later', async () => {
  const { pages, begun } = createReadings();
  const answers: ((version: number) => void)[] = [];
  const ask = createAsker(() => new Promise((resolve) => answers.push((version) => resolve(pages(version)))));
  const first = ask();
  await until(() => answers.length === 1);
  answers[0]?.(1);
  await until(() => begun.length === 1);
  const early = ask();
  await until(() => answers.length === 2);
  const late = ask();
  await until(() => answers.length === 3);
  answers[2]?.(3);
  await settled();
  answers[1]?.(2);
  await settled();
  begun[0]?.go();
  await settled();
  for (const index of [3, 4]) {
    await until(() => answers.length > index);
    answers[index]?.(4);
  }
  await until(() => begun.length === 2);
  begun[1]?.go();
  const texts = (await Promise.all([first, early, late])).map(({ text }) => text);
  assert.deepEqual(texts, ['[{"id":1}]', '[{"id":4}]', '[{"id":4}]']);
});

test('if a reading fails, the requests that wait for it ask again and are served', async () => {
  const { promise: failed, resolve: fail } = createDeferred();
  async function* failing() {
    await failed;
    yield* pagesOf([new Error('the file is gone')]);
  }
  let listed: ListedOrders = Object.assign(failing(), { version: 1 });
  const ask = createAsker(() => listed);
  const first = ask();
  await settled();
  listed = Object.assign(Readable.from(['{"id":2}']), { version: 2 });
  const second = ask();
  await settled();
  fail();
  assert.equal((await first).status, 503);
  assert.equal((await second).text, '[{"id":2}]');
});

test('a request that has waited for 5 s for pages of another version gets a 503, and one that hangs up leaves', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { pages, begun } = createReadings();
  let version = 1;
  let calls = 0;
  const ask = createAsker(() => {
    calls++;
    return pages(version);
  });
  const first = ask('ann');
  version = 2;
  let hasHungUp = false;
  const late = [ask('bob'), ask('cid'), ask('cid')];
  await settled();
  t.mock.timers.tick(4_000);
  const gone = ask('dan', () => hasHungUp);
  const served = ask('eve');
  await settled();
  t.mock.timers.tick(1_000);
  assert.deepEqual(
    (await Promise.all(late)).map(({ status }) => status),
    [503, 503, 503],
  );
  hasHungUp = true;
  const earlier = calls;
  begun[0]?.go();
  assert.equal((await gone).status, 408);
  await settled();
  assert.equal(calls, earlier + 1, 'the store is asked only for the request that still waits');
  begun[1]?.go();
  assert.deepEqual(
    (await Promise.all([first, served])).map(({ text }) => text),
    ['[{"id":1}]', '[{"id":2}]'],
  );
});

test('a store that never lists the orders of one tenant holds up that tenant only, while lists with versions are read', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const tenants = createStorage<number>();
  const { pages, begun } = createReadings();
  let isHanging = false;
  const asker = createAsker(async () => {
    const tenant = tenants.getStore() ?? 0;
    return isHanging && tenant < 6 ? new Promise<never>(() => {}) : pages(tenant);
  });
  const ask = (tenant: number) => tenants.run(tenant, () => asker(`${tenant}`));
  const replies = [1, 2, 3, 4, 5, 6].map(ask);
  await settled();
  t.mock.timers.tick(900);
  isHanging = true;
  begun[0]?.go();
  await settled();
  t.mock.timers.tick(1_000);
  await settled();
  begun[1]?.go();
  assert.equal((await replies[5])?.text, '[{"id":6}]');
});

test('however often a long list changes, two versions of it are in memory', async () => {
  const { pages, begun } = createReadings(16 * MIB);
  let version = 0;
  const ask = createAsker(() => pages(version));
  const heldBytes = () => {
    // The second call waits for the memory that the first one has found.
    collectGarbage();
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const baseBytes = heldBytes();
  let mostBytes = 0;
  let replies = 0;
  for (version = 1; version <= 8; version++) {
    for (let request = 0; request < 3; request++) void ask().then(() => replies++);
    await until(() => begun.length >= version);
    mostBytes = Math.max(mostBytes, heldBytes() - baseBytes);
    begun[version - 1]?.go();
  }
  await until(() => {
    for (const { go } of begun) go();
    return replies === 24;
  });
  assert.ok(mostBytes < 2.5 * 16 * MIB, mebibytes(mostBytes));
});
