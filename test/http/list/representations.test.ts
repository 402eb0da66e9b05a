import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { suite, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { OrderArray } from 'store-orders';
import { serializeOrders } from '../../../dist/orders/json.js';
import { fakeStore, withVersion } from '../../support/fake-store.js';
import { type Answer, tagOf } from '../support/answer.js';
import { createShop, GET, KEY, ORDERS } from '../support/shop.js';
import { type Ask, asking, listing, WAYS } from '../support/ways.js';

const few = ordersUpTo(3);
/** A list that is serialised in one pass of the event loop. */
const some = ordersUpTo(300);
/** A list so long that it is serialised in several passes of the event loop. */
const many = ordersUpTo(3_000);
/** A list of more than a megabyte, which is kept in several pieces. */
const most = ordersUpTo(60_000);

function ordersUpTo(last: number): OrderArray {
  return withVersion(Array.from({ length: last }, (_, i) => ({ id: BigInt(i + 1), petId: 7n })));
}

const decoders: Readonly<Record<string, (text: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  identity: (bytes) => bytes,
};

const codingOf = ({ fields }: Answer) => fields.get('content-encoding') ?? 'identity';

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
  ['X-Gzip', 'gzip'],
  ['x-gzip;q=0.5, identity;q=0.4', 'gzip'],
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
  // If nothing is acceptable, the list is sent uncompressed, not a 406 (RFC 9110 §12.4.1).
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
    test('uses the coding that Accept-Encoding prefers', async (t) => {
      const ask = await listing(t, way, some);
      for (const [acceptEncoding, coding] of CODINGS) {
        assert.equal(codingOf(await get(ask, acceptEncoding)), coding, acceptEncoding);
      }
    });

    test('a list that is always sent uncompressed is sent even if Accept-Encoding excludes that', async (t) => {
      for (const list of [few, [...few]]) {
        const answer = await get(await listing(t, way, list), 'gzip, identity;q=0');
        assert.deepEqual([answer.status, codingOf(answer)], [200, 'identity']);
      }
    });

    for (const orders of [few, some, many, most]) {
      test(`every coding of ${orders.length} orders decodes to the same bytes; HEAD has the same fields as GET, even as the first request`, async (t) => {
        const serialized = serializeOrders(orders);
        for (const coding of ['identity', 'gzip', 'br']) {
          const ask = await listing(t, way, orders);
          const head = await ask('HEAD', ORDERS, [KEY, ['Accept-Encoding', coding]]);
          const whole = await get(ask, coding);
          assert.ok(decoded(whole) === serialized, coding);
          assert.equal(codingOf(whole), orders === few ? 'identity' : coding, 'a small list is not compressed');
          assert.equal(whole.text.length < serialized.length / 3, codingOf(whole) !== 'identity');
          assert.equal(whole.fields.get('vary'), 'Accept-Encoding');
          assert.equal(whole.fields.get('content-length'), `${whole.text.length}`);
          for (const name of ['content-type', 'content-length', 'content-encoding', 'etag', 'vary']) {
            assert.equal(head.fields.get(name), whole.fields.get(name), name);
          }
        }
      });
    }

    test('equal lists in the same coding have equal strong tags, and other lists or codings have other tags', async (t) => {
      const tags = new Set<string>();
      for (const orders of [few, some, many, many.slice(1)]) {
        for (const listed of [orders, [...orders]]) {
          const ask = await listing(t, way, listed);
          for (const coding of ['identity', 'gzip', 'br']) {
            const tag = tagOf(await get(ask, coding));
            assert.match(tag, /^"[\w-]{22}(?:\.gzip|\.br)?"$/);
            tags.add(tag);
          }
        }
      }
      assert.equal(tags.size, 1 + 3 * 3, 'the small list has one tag, and each other list has three');
    });
  });
}

test('a list of at most 64 KiB is one text, and a list below 1,024 bytes is not compressed', async () => {
  for (const [bytes, type, isCompressed] of [
    [1_023, 'string', false],
    [1_024, 'string', true],
    [65_536, 'string', true],
    [65_537, 'object', true],
  ] as const) {
    const list = () => Object.assign(Readable.from(['x'.repeat(bytes - 2)]), { version: 1 });
    const { service } = createShop({ store: fakeStore({ list }) });
    const { headers } = await service.respond({ ...GET, rawHeaders: [...KEY, 'Accept-Encoding', 'br'] });
    assert.deepEqual([typeof (await service.respond(GET)).body, headers.includes('br')], [type, isCompressed]);
  }
});

test('changing an array while it is serialised does not change the list that is sent', async () => {
  const orders = [...many];
  const answer = get(asking(createShop({ store: fakeStore({ list: () => orders }) }).service));
  orders.length = 0;
  assert.equal((await answer).text, serializeOrders(many));
});

test('a long list is serialised in several passes of the event loop, and compressed once for each coding, for all requests that wait for it', async () => {
  const { service } = createShop({ store: fakeStore({ list: () => ordersUpTo(20_000) }) });
  const respond = (coding: string) => service.respond({ ...GET, rawHeaders: [...KEY, 'Accept-Encoding', coding] });
  let passes = 0;
  let isDone = false;
  const first = Promise.resolve(respond('identity')).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await new Promise(setImmediate);
    passes++;
  }
  assert.ok(passes >= 40, `${passes} passes for 40 slices`);
  const replies = ['br', 'gzip', 'identity'].flatMap((coding) => [respond(coding), respond(coding)]);
  const pieces = new Set<unknown>();
  for (const { body } of await Promise.all([first, ...replies])) {
    const isLong = typeof body === 'object' && Symbol.asyncIterator in body;
    for await (const piece of isLong ? body : [body]) pieces.add(piece);
  }
  assert.equal(pieces.size, 3);
});
