import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ListedOrders, Order } from 'store-orders';
import { serializeOrders } from '../../src/orders/json.js';
import { fakeStore, pagesOf, withVersion } from '../support/fake-store.js';
import { assertError } from './support/answer.js';
import { createShop, KEY, ORDERS, order } from './support/shop.js';
import { type Ask, WAYS } from './support/ways.js';

const orders: readonly Order[] = Array.from({ length: 1_000 }, (_, i) => ({ id: BigInt(i) }));

const LISTS: Readonly<Record<string, () => ListedOrders>> = {
  'a short list': () => withVersion(orders.slice(0, 2)),
  'a long list that is serialised in several turns of the event loop': () => withVersion(orders),
  'pages with a version': () => pagesOf([orders], 'v1'),
  'an array without a version': () => orders,
};

for (const way of WAYS) {
  suite(`reached by ${way.name}`, () => {
    for (const [name, createList] of Object.entries(LISTS)) {
      test(`a request for ${name} gets a 412 if its If-Match is neither * nor contains the list's tag (RFC 9110 §13.1.1)`, async () => {
        const listed = createList();
        const { service } = createShop({ store: fakeStore({ list: () => listed }) });
        const { ask, close } = await way.open(service);
        const asked = (method: string, ...fields: [string, string][]) => ask(method, ORDERS, [KEY, ...fields]);
        // Even the first request for the list gets a 412, because the service waits for the tag
        // before it responds.
        assertError(await asked('GET', ['If-Match', '"another"']), 'precondition_failed');
        for (const coding of ['identity', 'br, identity;q=0']) {
          const accept: [string, string] = ['Accept-Encoding', coding];
          const tag = (await asked('HEAD', accept)).fields.get('etag') ?? assert.fail('no tag');
          for (const method of ['GET', 'HEAD']) {
            for (const field of ['*', tag, `"another", ${tag}`]) {
              assert.equal((await asked(method, accept, ['If-Match', field])).status, 200, field);
              const both = await asked(method, accept, ['If-Match', field], ['If-None-Match', tag]);
              assert.equal(both.status, 304, 'If-None-Match is evaluated after If-Match');
            }
            const malformed = [tag.slice(1), `w/${tag}`, `${tag}x`, `${tag} ${tag}`, `*, ${tag}`];
            for (const field of ['"another"', `W/${tag}`, '', ...malformed]) {
              const failed = await asked(method, accept, ['If-Match', field], ['If-None-Match', tag]);
              assert.equal(failed.status, 412, field);
            }
          }
        }
        await close();
      });
    }

    test('a header field that is sent several times counts as one list of all its values (RFC 9110 §5.3)', async () => {
      await withShop(async (ask) => {
        const get = (...fields: [string, string][]) => ask('GET', ORDERS, [KEY, ...fields]);
        const tag = (await get()).fields.get('etag') ?? assert.fail('no tag');
        assert.equal((await get(['If-Match', '"other"'], ['If-Match', tag], ['If-Match', '"last"'])).status, 200);
        assert.equal((await get(['If-None-Match', tag], ['If-None-Match', '"last"'])).status, 304);
        const coded = await get(['Accept-Encoding', 'identity;q=0'], ['Accept-Encoding', 'br']);
        assert.equal(coded.fields.get('content-encoding'), 'br');
      });
    });

    test('a streamed list has no entity tag, so only * in If-Match or If-None-Match matches it', async () => {
      await withShop(
        async (ask) => {
          assert.equal((await ask('GET', ORDERS, [KEY, ['If-Match', '*']])).status, 200);
          assertError(await ask('GET', ORDERS, [KEY, ['If-Match', '"a"']]), 'precondition_failed');
          assert.equal((await ask('GET', ORDERS, [KEY, ['If-None-Match', '*']])).status, 304);
          const answer = await ask('GET', ORDERS, [KEY, ['Accept-Encoding', 'gzip'], ['If-None-Match', '"x"']]);
          assert.equal(answer.text, serializeOrders(orders));
          for (const name of ['etag', 'vary', 'content-encoding']) assert.equal(answer.fields.has(name), false, name);
        },
        pagesOf([orders]),
      );
    });

    test('If-Unmodified-Since is ignored, because the list has no modification date (RFC 9110 §13.1.4)', async () => {
      await withShop(async (ask) => {
        const since: [string, string] = ['If-Unmodified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT'];
        assert.equal((await ask('GET', ORDERS, [KEY, since])).status, 200);
        assert.equal((await ask('DELETE', order(1), [KEY, since])).status, 204);
      });
    });

    test('an If-None-Match that is malformed matches nothing', async () => {
      await withShop(async (ask) => {
        const tag = (await ask('GET', ORDERS, [KEY])).fields.get('etag') ?? assert.fail('no tag');
        const statusFor = async (field: string) => (await ask('GET', ORDERS, [KEY, ['If-None-Match', field]])).status;
        for (const field of [tag, `W/${tag}`, `, ,"a",${tag} ,`]) assert.equal(await statusFor(field), 304, field);
        for (const field of [`w/${tag}`, tag.slice(1), `${tag}x`, `x, ${tag}`]) {
          assert.equal(await statusFor(field), 200, field);
        }
      });
    });

    test('a DELETE whose If-Match is not * gets a 412 and cancels nothing, but a 404 or 409 stays (RFC 9110 §13.2.1)', async () => {
      await withShop(async (ask) => {
        for (const field of ['"a"', 'W/"a"', '', '"a", *']) {
          const fields: [string, string][] = [KEY, ['If-Match', field]];
          assertError(await ask('DELETE', order(1), fields), 'precondition_failed');
          assertError(await ask('DELETE', order('01'), fields), 'invalid_order_id');
          assertError(await ask('DELETE', order(404), fields), 'order_not_found');
          assertError(await ask('DELETE', order(2), fields), 'order_already_shipped');
          assertError(await ask('DELETE', order(3), fields), 'order_already_cancelled');
          assertError(await ask('DELETE', order(4), fields), 'order_not_pending');
        }
        assert.equal((await ask('DELETE', order(1), [KEY, ['If-Match', ' * ']])).status, 204, 'the order was pending');
        assertError(await ask('DELETE', order(404), [KEY, ['If-Match', '*']]), 'order_not_found');
      });
    });

    test('if the store cannot look up an order, a DELETE whose If-Match is not * always gets a 412', async () => {
      await withShop(async (ask) => {
        assertError(await ask('DELETE', order(1), [KEY, ['If-Match', '"a"']]), 'precondition_failed');
      }, []);
    });

    async function withShop(use: (ask: Ask) => Promise<void>, listed?: ListedOrders): Promise<void> {
      const shop = createShop();
      const { ask, close } = await way.open(
        listed === undefined ? shop.service : createShop({ store: fakeStore({ list: () => listed }) }).service,
      );
      try {
        await use(ask);
      } finally {
        await close();
      }
    }
  });
}
