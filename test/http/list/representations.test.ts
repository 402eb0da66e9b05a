import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { ListedOrders, OrderArray } from 'store-orders';
import { serializeOrders } from '../../../src/orders/json.js';
import { fakeStore, withVersion } from '../../support/fake-store.js';
import type { Answer } from '../support/answer.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { type Ask, core, WAYS, withShop } from '../support/ways.js';

const few = ordersUpTo(3);
/** A list that is serialised in one pass of the event loop. */
const some = ordersUpTo(300);
/** A list so long that it is serialised in several passes of the event loop. */
const many = ordersUpTo(3_000);

function ordersUpTo(last: number): OrderArray {
  return withVersion(Array.from({ length: last }, (_, i) => ({ id: BigInt(i + 1), petId: 7n })));
}

const decoders: Readonly<Record<string, (text: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  identity: (bytes) => bytes,
};

const codingOf = ({ fields }: Answer) => fields.get('content-encoding') ?? 'identity';
const tagOf = ({ fields }: Answer) => fields.get('etag') ?? assert.fail('no ETag');

function decoded(answer: Answer): string | undefined {
  return decoders[codingOf(answer)]?.(Buffer.from(answer.text, 'latin1')).toString('latin1');
}

const get = (ask: Ask, acceptEncoding?: string) =>
  ask('GET', ORDERS, acceptEncoding === undefined ? [KEY] : [KEY, ['Accept-Encoding', acceptEncoding]]);

/** The coding that each Accept-Encoding selects (RFC 9110 §12.5.3). */
const CODINGS: readonly (readonly [acceptEncoding: string | undefined, coding: string])[] = [
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['GZip', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  ['br;q=0.5, gzip', 'gzip'],
  ['br;q=0.5,gzip;q=0.50', 'br'],
  ['gzip;q=0.001', 'gzip'],
  ['gzip;q=0.5, identity', 'identity'],
  ['gzip;q=0.5, identity;q=0.4', 'gzip'],
  ['gzip ; q=1.000 , identity;q=1', 'gzip'],
  ['*', 'br'],
  ['*, br;q=0', 'gzip'],
  ['*;q=0.5, identity', 'identity'],
  ['identity;q=0, gzip', 'gzip'],
  ['gzip;q=0', 'identity'],
  ['gzip;q=0, br;q=0.0', 'identity'],
  ['deflate, zstd', 'identity'],
  // If nothing is acceptable, the list is sent uncompressed.
  ['identity;q=0', 'identity'],
  ['*;q=0', 'identity'],
  // Malformed members of the field are ignored.
  ['gzip;q=2', 'identity'],
  ['gzip;q=0.1234', 'identity'],
  ['gzip;level=9, br', 'br'],
  [',,;q=1, gzip', 'gzip'],
];

for (const way of WAYS) {
  suite(`reached by ${way.name}`, () => {
    const withList = (listed: ListedOrders, use: (ask: Ask) => Promise<void>) =>
      withShop(way, use, { store: fakeStore({ list: () => listed }) });

    test('uses the coding that Accept-Encoding prefers, and every coding decodes to the same bytes', async () => {
      for (const orders of [some, many]) {
        await withList(orders, async (ask) => {
          for (const [acceptEncoding, coding] of CODINGS) {
            const answer = await get(ask, acceptEncoding);
            assert.equal(codingOf(answer), coding, acceptEncoding);
            assert.equal(answer.fields.get('vary'), 'Accept-Encoding');
            assert.equal(decoded(answer), serializeOrders(orders), acceptEncoding);
            assert.equal(answer.text.length < serializeOrders(orders).length / 3, coding !== 'identity');
          }
        });
      }
    });

    test('sends a small list uncompressed', () =>
      withList(few, async (ask) => {
        const answer = await get(ask, 'gzip, br');
        assert.equal(answer.fields.get('vary'), 'Accept-Encoding');
        assert.equal(answer.text, serializeOrders(few));
      }));

    test('equal lists in the same coding have equal strong tags, and other lists or codings have other tags', async () => {
      const tags = new Set<string>();
      for (const orders of [few, some, many, many.slice(1)]) {
        for (const listed of [orders, [...orders]]) {
          await withList(listed, async (ask) => {
            for (const coding of ['identity', 'gzip', 'br']) {
              const tag = tagOf(await get(ask, coding));
              assert.match(tag, /^"[!#-~]+"$/);
              tags.add(tag);
            }
          });
        }
      }
      assert.equal(tags.size, 1 + 3 * 3, 'the small list has one tag, and each other list has three');
    });

    test('the response to HEAD has the same fields as the response to GET, even if HEAD is the first request', async () => {
      for (const orders of [few, many]) {
        for (const coding of ['identity', 'gzip', 'br']) {
          await withList(orders, async (ask) => {
            const head = await ask('HEAD', ORDERS, [KEY, ['Accept-Encoding', coding]]);
            const whole = await get(ask, coding);
            for (const name of ['content-type', 'content-length', 'content-encoding', 'etag', 'vary']) {
              assert.equal(head.fields.get(name), whole.fields.get(name), name);
            }
            assert.equal(head.fields.get('content-length'), `${whole.text.length}`);
          });
        }
      }
    });
  });
}

test('an array without a version is compressed, and every change of the array is shown', async () => {
  for (const listed of [[...some], [...many]]) {
    const check = async (ask: Ask) => {
      for (const order of [{ id: 10_000n }, { id: 10_001n }]) {
        const answer = await get(ask, 'gzip');
        assert.deepEqual([codingOf(answer), decoded(answer)], ['gzip', serializeOrders(listed)]);
        listed.push(order);
      }
    };
    await withShop(core, check, { store: fakeStore({ list: () => listed }) });
  }
});

test('after a change of the orders, clients get the new list in every coding', () =>
  withShop(core, async (ask, { store }) => {
    for (let round = 0; round < 5; round++) {
      store.put(Array.from({ length: 400 }, (_, i) => ({ id: 1_000 * (round + 1) + i })));
      for (const coding of ['gzip', 'br']) {
        const answers = await Promise.all([get(ask, coding), get(ask, coding)]);
        for (const answer of answers) assert.equal(decoded(answer), serializeOrders(store.list()));
      }
    }
  }));

test('changing an array while it is serialised does not change the list that is sent', () => {
  const orders = [...many];
  const check = async (ask: Ask) => {
    const answer = get(ask);
    orders.length = 0;
    assert.equal((await answer).text, serializeOrders(many));
  };
  return withShop(core, check, { store: fakeStore({ list: () => orders }) });
});

test('a long list is serialised in several passes of the event loop, once for all requests that wait for it', async () => {
  const { service } = createShop({ store: fakeStore({ list: () => ordersUpTo(20_000) }) });
  const replies = Array.from({ length: 3 }, () => service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY }));
  let passes = 0;
  const count = () => {
    passes++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const bodies = (await Promise.all(replies)).map(({ body }) => body);
  clearImmediate(next);
  assert.ok(passes >= 5, `${passes} passes`);
  assert.equal(new Set(bodies).size, 1);
});

test('a list of more than a megabyte decodes to the same bytes in every coding', () => {
  const orders = ordersUpTo(60_000);
  const check = async (ask: Ask) => {
    for (const coding of ['identity', 'gzip', 'br']) {
      const answer = await get(ask, coding);
      assert.equal(codingOf(answer), coding);
      assert.ok(decoded(answer) === serializeOrders(orders), coding);
    }
  };
  return withShop(core, check, { store: fakeStore({ list: () => orders }) });
});
