import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type ListedOrders, type Order, printOrders } from 'store-orders';
import { type Answer, trioOf } from '../support/answer.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { type Ask, WAYS } from '../support/ways.js';

const few = ordersUpTo(3n);
/** A list that is serialised in one pass of the event loop. */
const some = ordersUpTo(300n);
/** A list so long that it is serialised in several passes of the event loop. */
const many = ordersUpTo(3_000n);

function ordersUpTo(last: bigint): readonly Order[] {
  return Object.freeze(Array.from({ length: Number(last) }, (_, i) => Object.freeze({ id: BigInt(i + 1), petId: 7n })));
}

const listing = (listed: ListedOrders) => createShop({ store: { list: () => listed, cancel: () => 'not_found' } });

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
            assert.equal(decoded(answer), printOrders(orders), acceptEncoding);
            assert.equal(answer.text.length < printOrders(orders).length / 3, coding !== 'identity');
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
          assert.equal(decoded(answer), printOrders(few));
        }
      });
    });

    test('equal lists in the same coding have equal strong tags, and other lists or codings have other tags', async () => {
      const tags = new Set<string>();
      for (const orders of [few, some, many, Object.freeze(many.slice(1))]) {
        await withList(orders, async (ask) => {
          for (const coding of ['identity', 'gzip', 'br']) {
            // The first response may have no tag, because a list gets its tag once it is completely
            // serialised.
            await get(ask, ['Accept-Encoding', coding]);
            const tag = tagOf(await get(ask, ['Accept-Encoding', coding]));
            assert.match(tag, /^"[!#-~]+"$/);
            tags.add(tag);
            assert.equal(tagOf(await get(ask, ['Accept-Encoding', coding])), tag);
          }
        });
        await withList(Object.freeze([...orders]), async (ask) => {
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
                const before = trioOf(await ask('HEAD', ORDERS, [KEY]));
                const answer = await ask(method, ORDERS, [KEY, accept, ['If-None-Match', named]]);
                assert.deepEqual([answer.status, answer.text], [304, ''], `${method} ${named}`);
                assert.equal(tagOf(answer), tag);
                assert.equal(answer.fields.get('vary'), head.fields.get('vary'));
                assert.equal(answer.fields.has('content-length') || answer.fields.has('content-type'), false);
                assert.equal(trioOf(answer).remaining, before.remaining - 1);
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
        assert.deepEqual([answer.status, decoded(answer)], [200, printOrders(some)]);
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

    test('a list whose arrays are not frozen has no tag and is not compressed', async () => {
      for (const listed of [[...some], [[...some]]]) {
        await withList(listed, async (ask) => {
          const answer = await get(ask, ['Accept-Encoding', 'gzip'], ['If-None-Match', '"x"']);
          assert.equal(answer.text, printOrders(some));
          for (const name of ['etag', 'vary', 'content-encoding']) assert.equal(answer.fields.has(name), false, name);
          assert.equal((await get(ask, ['If-None-Match', '*'])).status, 304);
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
      for (const answer of answers) assert.equal(decoded(answer), printOrders(shop.store.list().flat()));
    }
  }
  await close();
});

test('after each random change of the orders and their batches, the response has exactly the orders that the store lists', async () => {
  const change = fc.record({ at: fc.nat(30), cut: fc.nat(30), quantity: fc.nat(9) });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 12 }), fc.boolean(), async (changes, isStreamed) => {
      let batches: readonly (readonly Order[])[] = [ordersUpTo(10n)];
      let listed: ListedOrders = Object.freeze(batches);
      const { service } = createShop({ store: { list: () => listed, cancel: () => 'not_found' } });
      const { ask, close } = await (WAYS[0] ?? assert.fail()).open(service);
      for (const { at, cut, quantity } of changes) {
        const orders = batches.flat();
        const index = batches.findIndex((batch) => batch.some(({ id }) => id === BigInt(at)));
        const changed = (orders[at - 1] === undefined ? [] : [{ id: BigInt(at), quantity }]).concat();
        batches = batches.flatMap((batch, i) => {
          if (i !== index) return [batch];
          const replaced = batch.map((order) => changed.find(({ id }) => id === order.id) ?? order);
          return [replaced.slice(0, cut), replaced.slice(cut)].map((part) => Object.freeze(part));
        });
        const now = batches;
        listed = Object.freeze(
          isStreamed
            ? {
                async *[Symbol.asyncIterator]() {
                  yield* now;
                },
              }
            : [...now],
        );
        assert.equal((await get(ask)).text, printOrders(batches.flat()));
      }
      await close();
    }),
    { numRuns: 100 },
  );
});
