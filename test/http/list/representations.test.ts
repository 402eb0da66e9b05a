import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { ListedOrders, OrderArray } from 'store-orders';
import { serializeOrders } from '../../../src/orders/json.js';
import { fakeStore, withVersion } from '../../support/fake-store.js';
import { type Answer, rateLimitOf } from '../support/answer.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { type Ask, WAYS } from '../support/ways.js';

const few = ordersUpTo(3n);
/** A list that is serialised in one pass of the event loop. */
const some = ordersUpTo(300n);
/** A list so long that it is serialised in several passes of the event loop. */
const many = ordersUpTo(3_000n);

function ordersUpTo(last: bigint): OrderArray {
  return withVersion(Array.from({ length: Number(last) }, (_, i) => ({ id: BigInt(i + 1), petId: 7n })));
}

const listing = (listed: ListedOrders) => createShop({ store: fakeStore({ list: () => listed }) });

const decoders: Readonly<Record<string, (text: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  identity: (bytes) => bytes,
};

function decoded({ fields, text }: Answer): string {
  const decode = decoders[fields.get('content-encoding') ?? 'identity'];
  assert.ok(decode !== undefined);
  return decode(Buffer.from(text, 'latin1')).toString('latin1');
}

const get = (ask: Ask, ...fields: readonly (readonly [string, string])[]) => ask('GET', ORDERS, [KEY, ...fields]);
const tagOf = ({ fields }: Answer) => fields.get('etag') ?? assert.fail('no ETag');

/** The coding that each Accept-Encoding selects (RFC 9110 §12.5.3). */
const CODINGS: readonly (readonly [acceptEncoding: string | undefined, coding: string])[] = [
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['GZip', 'gzip'],
  ['x-gzip', 'gzip'],
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
    async function withList(listed: ListedOrders, use: (ask: Ask) => Promise<void>): Promise<void> {
      const { ask, close } = await way.open(listing(listed).service);
      try {
        await use(ask);
      } finally {
        await close();
      }
    }

    test('uses the coding that Accept-Encoding prefers, and every coding decodes to the same bytes', async () => {
      for (const orders of [some, many]) {
        await withList(orders, async (ask) => {
          for (const [acceptEncoding, coding] of CODINGS) {
            const fields = acceptEncoding === undefined ? [] : [['Accept-Encoding', acceptEncoding] as const];
            const answer = await get(ask, ...fields);
            assert.equal(answer.fields.get('content-encoding') ?? 'identity', coding, acceptEncoding);
            assert.equal(answer.fields.get('vary'), 'Accept-Encoding');
            assert.equal(decoded(answer), serializeOrders(orders), acceptEncoding);
            assert.equal(answer.text.length < serializeOrders(orders).length / 3, coding !== 'identity');
          }
        });
      }
    });

    test('sends a small list uncompressed, unless Accept-Encoding forbids identity and allows a compression', async () => {
      await withList(few, async (ask) => {
        for (const [acceptEncoding, coding] of [
          ['gzip, br', undefined],
          ['gzip, identity;q=0.5', undefined],
          ['identity;q=0', undefined],
          ['*;q=0', undefined],
          ['gzip, identity;q=0', 'gzip'],
          ['gzip;q=0.2, *;q=0', 'gzip'],
        ] as const) {
          const answer = await get(ask, ['Accept-Encoding', acceptEncoding]);
          assert.equal(answer.fields.get('content-encoding'), coding, acceptEncoding);
          assert.equal(answer.fields.get('vary'), 'Accept-Encoding');
          assert.equal(decoded(answer), serializeOrders(few));
        }
      });
    });

    test('equal lists in the same coding have equal strong tags, and other lists or codings have other tags', async () => {
      const tags = new Set<string>();
      for (const orders of [few, some, many, withVersion(many.slice(1))]) {
        await withList(orders, async (ask) => {
          for (const coding of ['identity', 'gzip', 'br']) {
            const tag = tagOf(await get(ask, ['Accept-Encoding', coding]));
            assert.match(tag, /^"[!#-~]+"$/);
            tags.add(tag);
            assert.equal(tagOf(await get(ask, ['Accept-Encoding', coding])), tag);
          }
        });
        await withList(withVersion(orders), async (ask) => {
          assert.ok(tags.has(tagOf(await ask('HEAD', ORDERS, [KEY]))), 'an equal list has the same tag');
        });
      }
      assert.equal(tags.size, 1 + 3 * 3, 'the small list has one tag, and each other list has three');
    });

    test('a request whose If-None-Match names the tag of the list is charged, and gets a 304 with the same ETag and Vary as a 200', async () => {
      for (const orders of [few, some, many]) {
        for (const coding of ['identity', 'gzip', 'br']) {
          await withList(orders, async (ask) => {
            const accept = ['Accept-Encoding', coding] as const;
            const head = await ask('HEAD', ORDERS, [KEY, accept]);
            const tag = tagOf(head);
            for (const named of [tag, `W/${tag}`, `"a,b", ${tag}`, `"x",W/"y" , W/${tag}`, '*', ' * ']) {
              for (const method of ['GET', 'HEAD']) {
                const before = rateLimitOf(await ask('HEAD', ORDERS, [KEY]));
                const answer = await ask(method, ORDERS, [KEY, accept, ['If-None-Match', named]]);
                assert.deepEqual([answer.status, answer.text], [304, ''], `${method} ${named}`);
                assert.equal(tagOf(answer), tag);
                assert.equal(answer.fields.get('vary'), head.fields.get('vary'));
                assert.equal(answer.fields.has('content-length') || answer.fields.has('content-type'), false);
                assert.equal(rateLimitOf(answer).remaining, before.remaining - 1);
              }
            }
            for (const other of [tag.slice(1, -1), '"other"', tag.replace('"', '"x'), 'W/', '', '"*"']) {
              assert.equal((await get(ask, accept, ['If-None-Match', other])).status, 200, other);
            }
          });
        }
      }
    });

    test('the tag of one coding does not match another coding', async () => {
      await withList(some, async (ask) => {
        const plain = tagOf(await get(ask));
        const answer = await get(ask, ['Accept-Encoding', 'gzip'], ['If-None-Match', plain]);
        assert.deepEqual([answer.status, decoded(answer)], [200, serializeOrders(some)]);
      });
    });

    test('the response to HEAD has the same fields as the response to GET, even if HEAD is the first request', async () => {
      for (const orders of [few, some, many]) {
        for (const coding of ['identity', 'gzip', 'br']) {
          await withList(orders, async (ask) => {
            const accept = ['Accept-Encoding', coding] as const;
            const head = await ask('HEAD', ORDERS, [KEY, accept]);
            const whole = await get(ask, accept);
            for (const name of ['content-type', 'content-length', 'content-encoding', 'etag', 'vary']) {
              assert.equal(head.fields.get(name), whole.fields.get(name), name);
            }
            assert.equal(head.fields.get('content-length'), `${whole.text.length}`);
          });
        }
      }
    });

    test('an array without a version is compressed and has a tag, and every change of the array is shown', async () => {
      for (const listed of [[...few], [...some], [...many]]) {
        await withList(listed, async (ask) => {
          const tags = new Set<string>();
          for (const order of [{ id: 10_000n }, { id: 10_001n }]) {
            const answer = await get(ask, ['Accept-Encoding', 'gzip, identity;q=0']);
            assert.equal(answer.fields.get('content-encoding'), 'gzip');
            assert.equal(decoded(answer), serializeOrders(listed));
            assert.equal((await get(ask, ['If-None-Match', tagOf(await get(ask))])).status, 304);
            tags.add(tagOf(answer));
            listed.push(order);
          }
          assert.equal(tags.size, 2);
        });
      }
    });
  });
}

test('after a change of the orders, clients get the new list in every coding', async () => {
  const shop = createShop();
  const { ask, close } = await (WAYS[0] ?? assert.fail()).open(shop.service);
  for (let round = 0; round < 5; round++) {
    shop.store.put(Array.from({ length: 400 }, (_, i) => ({ id: 1_000 * (round + 1) + i })));
    for (const coding of ['gzip', 'br']) {
      const answers = await Promise.all([1, 2].map(() => get(ask, ['Accept-Encoding', coding])));
      for (const answer of answers) assert.equal(decoded(answer), serializeOrders(shop.store.list()));
    }
  }
  await close();
});

test('changing an array while it is serialised does not change the list that is sent', async () => {
  const orders = [...many];
  const { service } = listing(orders);
  const reply = service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY });
  orders.length = 0;
  const { body } = await reply;
  assert.ok(typeof body === 'object');
  let text = '';
  for await (const piece of body instanceof Uint8Array ? [body] : body) text += Buffer.from(piece).toString('latin1');
  assert.equal(text, serializeOrders(many));
});

test('a long list is serialised in several passes of the event loop, once for all requests that wait for it', async () => {
  const { service } = listing(ordersUpTo(20_000n));
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
