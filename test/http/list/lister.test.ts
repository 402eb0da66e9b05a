import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { ListedOrders, Order } from 'store-orders';
import { fakeStore, pagesOf, withVersion } from '../../support/fake-store.js';
import { collectGarbage, MIB, mebibytes } from '../../support/memory.js';
import { createDeferred, until } from '../../support/until.js';
import { assertError } from '../support/answer.js';
import { createShop, GET, KEY, ORDERS } from '../support/shop.js';
import { asking, openShop, WAYS } from '../support/ways.js';

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

  test(`pages that are not ASCII are sent byte for byte (${way.name})`, async (t) => {
    const page = '{"id":1,"shipDate":"é"}';
    const list = () => Object.assign(Readable.from([page]), { version: 1 });
    const { ask } = await openShop(t, way, { store: fakeStore({ list }) });
    assert.equal((await ask('GET', ORDERS, [KEY])).text, Buffer.from(`[${page}]`).toString('latin1'));
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

test('long arrays are serialised one version at a time, and each reader gets its own; then readers need no promise', async () => {
  const begun = new Set<number>();
  const ended = new Set<number>();
  let mostAtOnce = 0;
  let listed: ListedOrders = [];
  const { service } = createShop({ store: fakeStore({ list: () => listed }) });
  const respond = () => service.respond(GET);
  const replies = [1, 2, 2, 3, 4, 5].map(async (version) => {
    const many = Array.from({ length: 1_000 }, (_, id) => ({ id: BigInt(id), quantity: version }));
    const first = {
      id: -1n,
      get quantity() {
        begun.add(version);
        mostAtOnce = Math.max(mostAtOnce, begun.size - ended.size);
        return version;
      },
    };
    const last = {
      id: 1_000n,
      get quantity() {
        ended.add(version);
        return version;
      },
    };
    listed = withVersion([first, ...many, last], `v${version}`);
    const { body } = await respond();
    assert.ok(String(body).startsWith(`[{"id":-1,"quantity":${version}},`));
  });
  await Promise.all(replies);
  assert.equal(mostAtOnce, 1);
  assert.equal(ended.size, 5);
  const reply = respond();
  assert.ok(!(reply instanceof Promise));
  assert.equal(reply.status, 200);
});

/** Creates a service whose list has a new version for each request, and is read when `go` is called. */
function createChangingShop(pageBytes = 0) {
  const readings: (() => void)[] = [];
  let version = 0;
  let atOnce = 0;
  let mostAtOnce = 0;
  const list = () => ({
    version: ++version,
    async *[Symbol.asyncIterator]() {
      mostAtOnce = Math.max(mostAtOnce, ++atOnce);
      const { promise, resolve } = createDeferred();
      readings.push(resolve);
      yield `{"id":${version}}`.padEnd(pageBytes);
      await promise;
      atOnce--;
    },
  });
  const { service } = createShop({ store: fakeStore({ list }) });
  const respond = async () => service.respond(GET);
  return { readings, respond, versions: () => version, mostAtOnce: () => mostAtOnce };
}

test('while pages are read, all requests for newer versions wait for one further reading, which shows all of them', async () => {
  const { readings, respond, versions, mostAtOnce } = createChangingShop();
  const ask = (count: number) => Array.from({ length: count }, respond);
  const first = ask(1);
  await until(() => readings.length === 1);
  const second = ask(20);
  await until(() => versions() === 21);
  readings[0]?.();
  await until(() => readings.length === 2);
  const third = ask(20);
  await until(() => versions() === 41);
  readings[1]?.();
  await until(() => readings.length === 3);
  readings[2]?.();
  for (const [replies, shown] of [
    [first, 1],
    [second, 21],
    [third, 41],
  ] as const) {
    for (const { body } of await Promise.all(replies)) assert.equal(body, `[{"id":${shown}}]`);
  }
  assert.deepEqual([readings.length, mostAtOnce()], [3, 1]);
});

test('however often a long list changes, two versions of it are in memory', async () => {
  const { readings, respond } = createChangingShop(16 * MIB);
  const heldBytes = () => {
    // The second call waits for the memory that the first one has found.
    collectGarbage();
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const baseBytes = heldBytes();
  let mostBytes = 0;
  let replies = 0;
  const ask = async () => {
    if ((await respond()).status === 200) replies++;
  };
  for (let round = 0; round < 8; round++) {
    for (let request = 0; request < 3; request++) void ask();
    await until(() => readings.length > round);
    mostBytes = Math.max(mostBytes, heldBytes() - baseBytes);
    readings[round]?.();
  }
  await until(() => {
    for (const go of readings) go();
    return replies === 24;
  });
  assert.ok(mostBytes < 2.5 * 16 * MIB, mebibytes(mostBytes));
});

test('an array is serialised once for each version, and for each request if it has none', async () => {
  let readings = 0;
  const order = {
    id: 1n,
    get petId() {
      readings++;
      return 7n;
    },
  };
  let listed: ListedOrders = [];
  const ask = asking(createShop({ store: fakeStore({ list: () => listed }) }).service);
  for (const [orders, expected] of [
    [withVersion([order]), 1],
    [withVersion([order]), 1],
    [withVersion([order], 'v2'), 2],
    [[order], 3],
    [[order], 4],
    [withVersion([order], 'v2'), 4],
  ] as const) {
    listed = orders;
    assert.equal((await ask('GET', ORDERS, [KEY])).text, '[{"id":1,"petId":7}]');
    assert.equal(readings, expected);
  }
});

test('pages may be strings or UTF-8 bytes, and both have the same entity tag as an array of the same orders', async () => {
  const bytes = Object.assign(Readable.from([Buffer.from('{"id":1},{"id":2}'), Buffer.from('{"id":3}')]), {
    version: 2,
  });
  const tags = new Set<string | undefined>();
  for (const listed of [pagesOf(PAGES, 'text'), bytes, PAGES.flat(), withVersion(PAGES.flat())]) {
    const { service } = createShop({ store: fakeStore({ list: () => listed }) });
    const { text, fields } = await asking(service)('GET', ORDERS, [KEY]);
    assert.equal(text, SERIALIZED);
    tags.add(fields.get('etag'));
  }
  assert.equal(tags.size, 1);
});
