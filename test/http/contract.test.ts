import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertError, rateLimitOf, retryAfterOf } from './support/answer.js';
import { bearer, createShop, INT64_MAX, INT64_MIN, KEY, ORDERS, order } from './support/shop.js';
import { WAYS, withShop } from './support/ways.js';

// What the exported audits do not check, for example because fetch cannot send the requests.
for (const way of WAYS) {
  suite(`reached by ${way.name}`, () => {
    test('GET /store/orders returns all orders in ascending order of their ids, with all digits of an int64 (part 4.1)', () =>
      withShop(way, async (ask) => {
        const { status, text } = await ask('GET', ORDERS, [KEY]);
        assert.equal(status, 200);
        assert.equal(
          text,
          `[{"id":${INT64_MIN}},{"id":-5},{"id":0},` +
            '{"id":1,"petId":7,"quantity":2,"shipDate":"2026-02-03T04:05:06Z","complete":false},' +
            '{"id":2},{"id":3},{"id":4},{"id":9007199254740991},{"id":9007199254740992},{"id":9007199254740993},' +
            `{"id":${INT64_MAX}}]`,
        );
      }));

    test('a path that the specification does not define gets 404 route_not_found, even if normalising it would give a defined path', () =>
      withShop(way, async (ask, { store }) => {
        const paths = [
          ...'/ /v1 /v2/store/orders /store/orders /v1/store /v1/store/order /V1/store/orders'.split(' '),
          ...['/', '//', 'x', '/1/', '/1/2', '//1', ';x=1'].map((rest) => ORDERS + rest),
          ...'//v1/store/orders /v1//store/orders/1 /v1/store%2Forders /%761/store/orders /__proto__'.split(' '),
          `/?${ORDERS}`,
        ];
        for (const path of paths) {
          assertError(await ask('DELETE', path, [KEY]), 'route_not_found');
          assertError(await ask('GET', path, [KEY]), 'route_not_found');
        }
        assert.equal(store.get(1n)?.status, 'pending');
      }));

    test('a request target of more than 8,192 characters gets 414 on the paths of the service', () =>
      withShop(way, async (ask) => {
        const room = 8_192 - ORDERS.length - 1;
        // The fetch mount counts the origin of the URL too, so its limit is reached up to 30
        // characters earlier.
        assert.equal((await ask('GET', `${ORDERS}?${'x'.repeat(room - 30)}`, [KEY])).status, 200);
        assertError(await ask('GET', `${ORDERS}?${'x'.repeat(room + 1)}`, [KEY]), 'uri_too_long');
        assertError(await ask('DELETE', `${ORDERS}/${'1'.repeat(room + 1)}`, [KEY]), 'uri_too_long');
        assertError(await ask('GET', `/${'x'.repeat(9_000)}`, [KEY]), 'route_not_found');
      }));

    test('every path begins with the base path, which can have any number of segments (part 9)', async () => {
      for (const basePath of ['', '/v1', '/shop/animals/v2']) {
        const check = async (ask: Parameters<Parameters<typeof withShop>[1]>[0]) => {
          assert.equal((await ask('GET', `${basePath}/store/orders`, [KEY])).status, 200, basePath);
          assert.equal((await ask('GET', `/other${ORDERS}`, [KEY])).status, 404);
        };
        await withShop(way, check, { basePath });
      }
    });

    test('without an API key, every request gets 401 missing_api_key, and a challenge without an error parameter (part 5)', () =>
      withShop(way, async (ask) => {
        const values = [
          '',
          'Bearer',
          'bearer ',
          'Basic dTpw',
          'Digest username="ann", uri="/"',
          'Token business-key',
          'business-key',
          'Bearerbusiness-key',
        ];
        for (const fields of [[], ...values.map((value) => [['Authorization', value] as const])]) {
          for (const [method, path] of [
            ['DELETE', order(1)],
            ['GET', '/v1/nothing'],
            ['POST', ORDERS],
          ] as const) {
            const answer = await ask(method, path, fields);
            assertError(answer, 'missing_api_key');
            assert.equal(answer.fields.get('www-authenticate'), 'Bearer realm="store-orders"');
          }
        }
      }));

    test('with an invalid key, every request gets 401 invalid_api_key, a challenge with error="invalid_token", and no copy of the key (part 5)', () =>
      withShop(way, async (ask, { store }) => {
        const keys = ['nobody', 'business-key2', 'BUSINESS-KEY', 'business-key x', 'business-key,', '"business-key"'];
        for (const key of [...keys, 'constructor', '__proto__', 'k%31', 'k'.repeat(7_000), `${'='.repeat(7_000)}k`]) {
          for (const [method, path] of [
            ['DELETE', order(1)],
            ['GET', '/v1/nothing'],
          ] as const) {
            const answer = await ask(method, path, [bearer(key)]);
            assertError(answer, 'invalid_api_key');
            assert.equal(answer.fields.get('www-authenticate'), 'Bearer realm="store-orders", error="invalid_token"');
            assert.equal(answer.text.includes(key), false);
          }
        }
        assert.equal(store.get(1n)?.status, 'pending');
      }));

    test('requests without a valid key are limited by address; valid keys do not use that quota, and are not affected by it', () =>
      withShop(way, async (ask) => {
        for (let i = 0; i < 4; i++) await ask('GET', ORDERS, [bearer('tiny-key')]);
        for (let left = 599; left >= 0; left--) {
          const answer = await ask('GET', ORDERS, [bearer('nobody')]);
          assert.deepEqual([answer.status, rateLimitOf(answer).remaining], [401, left]);
        }
        const refused = await ask('GET', ORDERS);
        assertError(refused, 'rate_limit_exceeded');
        assert.deepEqual([rateLimitOf(refused).limit, retryAfterOf(refused)], [600, 60]);
        const served = await ask('GET', ORDERS, [KEY]);
        assert.equal(served.status, 200);
        assert.deepEqual([rateLimitOf(served).limit, rateLimitOf(served).remaining], [1_000, 999]);
      }));

    if (!way.isVerbatim) return;

    test('a request target in absolute form is matched by its path; `//`, `*` and dot segments match no operation', () =>
      withShop(way, async (ask) => {
        for (const base of ['http://orders.test', 'HTTPS://[::1]:8443']) {
          assert.equal((await ask('GET', `${base}${ORDERS}?x`, [KEY])).status, 200, base);
        }
        assert.equal((await ask('DELETE', `http://orders.test${order(1)}`, [KEY])).status, 204);
        for (const authority of ['user@orders.test', 'user:secret@orders.test', 'orders.test:x', '[::1']) {
          assertError(await ask('DELETE', `http://${authority}${order(0)}`, [KEY]), 'bad_request');
        }
        const foreign = '// * /v1/./store/orders /v1/x/../store/orders http://orders.test ftp://h/v1/store/orders';
        const others = [`http://${ORDERS}`, 'http://orders.test?/v1/store/orders', `//orders.test${ORDERS}`];
        for (const target of [...foreign.split(' '), ...others]) {
          assertError(await ask('GET', target, [KEY]), 'route_not_found');
          assertError(await ask('OPTIONS', target, [KEY]), 'route_not_found');
        }
      }));

    test('a GET or DELETE with a body is served, but the body is not read and the connection is closed', () =>
      withShop(way, async (ask) => {
        const list = await ask('GET', ORDERS, [KEY], 'DELETE /v1/store/orders/1 HTTP/1.1\r\n\r\n');
        assert.deepEqual([list.status, list.fields.get('connection')], [200, 'close']);
        const cancel = await ask('DELETE', order(1), [KEY], '{"id":2}');
        assert.deepEqual([cancel.status, cancel.fields.get('connection')], [204, 'close']);
        const empty = await ask('DELETE', order(0), [KEY, ['Content-Length', '0']]);
        assert.deepEqual([empty.status, empty.fields.get('connection') === 'close'], [204, false]);
      }));

    test('a request with several Host fields or an invalid Host gets 400 bad_request, with or without a key', () =>
      withShop(way, async (ask, { store }) => {
        const invalid = [
          '',
          'a b/c?d',
          '127.0.0.1/path',
          'user@host',
          'a, b',
          'a:b',
          ':80',
          '[::1',
          '::1',
          'a%2',
          'a\\b',
          'é',
        ];
        for (const hosts of [['orders.test', 'orders.test'], ['a', 'b'], ['', ''], ...invalid.map((host) => [host])]) {
          const fields = hosts.map((host): [string, string] => ['Host', host]);
          assertError(await ask('DELETE', order(1), [...fields, KEY]), 'bad_request');
          assertError(await ask('GET', '/', fields), 'bad_request');
        }
        for (const host of [
          'orders.test',
          'a:',
          'A-b_c.d:65536',
          '127.0.0.1:80',
          '[::1]:8443',
          "a%C3%A9!$&'()*+,;=~",
        ]) {
          assert.equal((await ask('GET', ORDERS, [['Host', host], KEY])).status, 200, host);
        }
        assert.equal(store.get(1n)?.status, 'pending');
      }));

    test('a request with two Authorization fields gets 401 invalid_api_key, even if one is empty or has another scheme', () =>
      withShop(way, async (ask) => {
        for (const other of ['Basic dTpw', '']) {
          assertError(await ask('GET', ORDERS, [['Authorization', other], KEY]), 'invalid_api_key');
          assertError(await ask('GET', ORDERS, [KEY, ['AUTHORIZATION', other]]), 'invalid_api_key');
        }
      }));
  });
}

test('createOrderService throws an error for an invalid base path', () => {
  for (const basePath of ['/v1/', 'v1', '/a b', '//']) {
    assert.throws(() => createShop({ basePath }), { name: 'TypeError', message: /^basePath:/ });
  }
});
