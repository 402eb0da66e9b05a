import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ListedOrders } from 'store-orders';
import { serializeOrders } from '../../../dist/orders/json.js';
import { pagesOf, withVersion } from '../../support/fake-store.js';
import { assertError, rateLimitOf, tagOf } from '../support/answer.js';
import { KEY, ORDERS, order } from '../support/shop.js';
import { type Ask, listing, openShop, WAYS } from '../support/ways.js';

const orders = Array.from({ length: 1_000 }, (_, i) => ({ id: BigInt(i), petId: 7n }));

const LISTS: Readonly<Record<string, ListedOrders>> = {
  'a short list': withVersion(orders.slice(0, 2)),
  'a long list that is serialised in several turns of the event loop': withVersion(orders),
  'pages with a version': pagesOf([orders], 'v1'),
  'an array without a version': orders,
};

type Field = readonly [name: string, value: string];

const get = (ask: Ask, ...fields: readonly Field[]) => ask('GET', ORDERS, [KEY, ...fields]);

for (const way of WAYS) {
  suite(`reached by ${way.name}`, () => {
    for (const [name, listed] of Object.entries(LISTS)) {
      test(`a request for ${name} gets a 412 unless its If-Match is * or contains the tag, and a 304 if its If-None-Match does (RFC 9110 §13.1)`, async (t) => {
        const ask = await listing(t, way, listed);
        // Even the first request for the list gets a 412, because the service waits for the tag
        // before it responds.
        assertError(await get(ask, ['If-Match', '"another"']), 'precondition_failed');
        for (const coding of ['identity', 'br']) {
          const accept = ['Accept-Encoding', coding] as const;
          const head = await ask('HEAD', ORDERS, [KEY, accept]);
          const tag = tagOf(head);
          const statusOf = async (...fields: readonly Field[]) => (await get(ask, accept, ...fields)).status;
          for (const field of ['*', ' * ', tag, `"another", ${tag}`]) {
            assert.equal(await statusOf(['If-Match', field]), 200, field);
            assert.equal(await statusOf(['If-Match', field], ['If-None-Match', tag]), 304, 'both are evaluated');
          }
          const malformed = [`w/${tag}`, `W/ ${tag}`, `"x" ${tag}`, `x${tag}`, `"x"${tag}`, `${tag};`, `*, ${tag}`];
          const others = ['"another"', '"*"', tag.slice(1), tag.replace('"', '"x'), '', ...malformed];
          for (const field of [`W/${tag}`, ...others]) {
            assert.equal(await statusOf(['If-Match', field], ['If-None-Match', tag]), 412, field);
          }
          for (const field of others) {
            assert.equal(await statusOf(['If-None-Match', field]), 200, field);
          }
          for (const field of ['*', ' * ', tag, `W/${tag}`, `, ,"a,b",${tag} ,`, `"x",W/"y" , W/${tag}`]) {
            const before = rateLimitOf(await ask('HEAD', ORDERS, [KEY])).remaining;
            const { status, fields } = await get(ask, accept, ['If-None-Match', field]);
            assert.deepEqual([status, fields.get('etag')], [304, tag], field);
            assert.equal(fields.get('vary'), head.fields.get('vary'));
            assert.equal(Number(fields.get('x-ratelimit-remaining')), before - 1, 'a 304 is charged');
          }
        }
      });
    }

    test('a header field that is sent several times counts as one list of all its values (RFC 9110 §5.3)', async (t) => {
      const ask = await listing(t, way, orders);
      const tag = tagOf(await get(ask));
      assert.equal((await get(ask, ['If-Match', '"other"'], ['If-Match', tag], ['If-Match', '"last"'])).status, 200);
      assert.equal((await get(ask, ['If-None-Match', tag], ['If-None-Match', '"last"'])).status, 304);
      const coded = await get(ask, ['Accept-Encoding', 'identity;q=0'], ['Accept-Encoding', 'br']);
      assert.equal(coded.fields.get('content-encoding'), 'br');
    });

    test('a streamed list has no entity tag, so only * in If-Match or If-None-Match matches it', async (t) => {
      const ask = await listing(t, way, pagesOf([orders]));
      for (const any of ['*', ' * ']) {
        assert.equal((await get(ask, ['If-Match', any])).status, 200);
        assert.equal((await get(ask, ['If-None-Match', any])).status, 304);
      }
      assertError(await get(ask, ['If-Match', '"a"']), 'precondition_failed');
      const answer = await get(ask, ['Accept-Encoding', 'gzip'], ['If-None-Match', '"x"']);
      assert.equal(answer.text, serializeOrders(orders));
      for (const name of ['etag', 'vary', 'content-encoding']) assert.equal(answer.fields.has(name), false, name);
    });

    test('If-Unmodified-Since is ignored, because the list has no modification date (RFC 9110 §13.1.4)', async (t) => {
      const { ask } = await openShop(t, way);
      const since = ['If-Unmodified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT'] as const;
      assert.equal((await get(ask, since)).status, 200);
      assert.equal((await ask('DELETE', order(1), [KEY, since])).status, 204);
    });

    test('a DELETE whose If-Match is not * gets a 412 and cancels nothing, but a 404 or 409 stays (RFC 9110 §13.2.1)', async (t) => {
      const { ask } = await openShop(t, way);
      for (const field of ['"a"', 'W/"a"', '', '"a", *']) {
        const fields = [KEY, ['If-Match', field]] as const;
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

    test('if the store cannot look up an order, a DELETE whose If-Match is not * always gets a 412', async (t) => {
      const ask = await listing(t, way, []);
      assertError(await ask('DELETE', order(1), [KEY, ['If-Match', '"a"']]), 'precondition_failed');
    });
  });
}
