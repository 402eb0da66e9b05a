import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertError } from '../../http/support/answer.js';
import { createShop, KEY, ORDERS, order } from '../../http/support/shop.js';
import { openShop, WAYS } from '../../http/support/ways.js';
import { INT64_MAX, INT64_MIN } from '../../orders/support/ids.js';

/** The values of Authorization that lead to each error. `undefined` stands for a request without the field. */
const UNAUTHORIZED = {
  missing_api_key: [undefined, '', 'Bearer  ', 'Basic dTpw', 'Digest username="ann", uri="/"', 'business-key'],
  invalid_api_key: [
    ...['Bearer nobody', 'Bearer BUSINESS-KEY', 'Bearer business-key x', 'Bearer constructor', 'Bearer k%31'],
    `Bearer ${'='.repeat(7_000)}k`,
  ],
};

// What the exported audits do not check, for example because fetch cannot send the requests.
for (const way of WAYS) {
  suite(`reached by ${way.name}`, () => {
    test('GET /store/orders returns all orders in ascending order of their ids, with all digits of an int64 (part 4.1)', async (t) => {
      const { ask } = await openShop(t, way);
      const { status, text } = await ask('GET', ORDERS, [KEY]);
      assert.equal(status, 200);
      assert.equal(
        text,
        `[{"id":${INT64_MIN}},{"id":-5},{"id":0},` +
          '{"id":1,"petId":7,"quantity":2,"shipDate":"2026-02-03T04:05:06Z","complete":false},' +
          '{"id":2},{"id":3},{"id":4},{"id":9007199254740991},{"id":9007199254740992},{"id":9007199254740993},' +
          `{"id":${INT64_MAX}}]`,
      );
    });

    test('a request target of more than 8,192 characters gets 414 on the paths of the service', async (t) => {
      const { ask } = await openShop(t, way);
      const room = 8_192 - ORDERS.length - 1;
      // The fetch mount counts the origin of the URL too, so its limit is reached up to 30
      // characters earlier.
      assert.equal((await ask('GET', `${ORDERS}?${'x'.repeat(room - 30)}`, [KEY])).status, 200);
      assertError(await ask('GET', `${ORDERS}?${'x'.repeat(room + 1)}`, [KEY]), 'uri_too_long');
      assertError(await ask('DELETE', `${ORDERS}/${'1'.repeat(room + 1)}`, [KEY]), 'uri_too_long');
      assertError(await ask('GET', `/${'x'.repeat(9_000)}`, [KEY]), 'route_not_found');
    });

    test('every path begins with the base path, which can have any number of segments (part 9)', async (t) => {
      for (const basePath of ['', '/shop/animals/v2']) {
        const { ask } = await openShop(t, way, { basePath });
        assert.equal((await ask('GET', `${basePath}/store/orders`, [KEY])).status, 200, basePath);
        assertError(await ask('GET', ORDERS, [KEY]), 'route_not_found');
      }
    });

    for (const [code, parameter] of [
      ['missing_api_key', ''],
      ['invalid_api_key', ', error="invalid_token"'],
    ] as const) {
      test(`every request whose key is missing or invalid gets 401 ${code} with a challenge and a body that does not depend on the key (part 5)`, async (t) => {
        const { ask, store } = await openShop(t, way);
        const bodies = new Set<string>();
        for (const value of UNAUTHORIZED[code]) {
          const fields = value === undefined ? [] : [['Authorization', value] as const];
          for (const [method, path] of [
            ['DELETE', order(1)],
            ['GET', '/v1/nothing'],
            ['POST', ORDERS],
          ] as const) {
            const answer = await ask(method, path, fields);
            assertError(answer, code);
            assert.equal(answer.fields.get('www-authenticate'), `Bearer realm="store-orders"${parameter}`);
            bodies.add(answer.text);
          }
        }
        assert.equal(bodies.size, 1);
        assert.equal(store.get(1n)?.status, 'pending');
      });
    }

    test('spaces after a key do not belong to it', async (t) => {
      const { ask } = await openShop(t, way);
      assert.equal((await ask('GET', ORDERS, [['Authorization', `${KEY[1]}  `]])).status, 200);
    });

    if (!way.isVerbatim) return;

    test('a request target in absolute form is matched by its path, and nothing else in a target is normalised', async (t) => {
      const { ask, store } = await openShop(t, way);
      for (const base of ['http://orders.test', 'HTTPS://[::1]:8443']) {
        assert.equal((await ask('GET', `${base}${ORDERS}?x`, [KEY])).status, 200, base);
      }
      assert.equal((await ask('DELETE', `http://orders.test${order(0)}`, [KEY])).status, 204);
      for (const authority of ['user@orders.test', 'user:secret@orders.test', 'orders.test:x', '[::1']) {
        assertError(await ask('DELETE', `http://${authority}${order(1)}`, [KEY]), 'bad_request');
        assertError(await ask('GET', `http://${authority}/`, []), 'bad_request');
      }
      for (const target of [
        ...['/', '//', '*', '/__proto__', '/V1/store/orders', '/v1/store%2Forders', '/%761/store/orders'],
        ...['/', '//', 'x', '/1/', '/1/2', '//1', '/./1', '/../orders/1', ';x=1'].map((rest) => ORDERS + rest),
        ...[`/${order(1)}`, '/v1//store/orders/1', '/v1/x/../store/orders/1', `/?${ORDERS}`, `//orders.test${ORDERS}`],
        ...['http://orders.test', `http://orders.test?${ORDERS}`, `http://${ORDERS}`, `ftp://h${ORDERS}`],
      ]) {
        for (const method of ['GET', 'DELETE', 'OPTIONS']) {
          assertError(await ask(method, target, [KEY]), 'route_not_found');
        }
      }
      assert.equal(store.get(1n)?.status, 'pending');
    });

    test('a request with several Host fields or an invalid Host gets 400 bad_request, with or without a key', async (t) => {
      const { ask, store } = await openShop(t, way);
      const invalid = [
        ...['', 'a b/c?d', '127.0.0.1/path', 'user@host', 'a, b', 'a:b'],
        ...[':80', '[::1', '::1', 'a%2', 'a\\b', 'é'],
      ];
      for (const hosts of [['orders.test', 'orders.test'], ['a', 'b'], ['', ''], ...invalid.map((host) => [host])]) {
        const fields = hosts.map((host): [string, string] => ['Host', host]);
        assertError(await ask('DELETE', order(1), [...fields, KEY]), 'bad_request');
        assertError(await ask('GET', '/', fields), 'bad_request');
      }
      for (const host of ['a:', 'A-b_c.d:65536', '127.0.0.1:80', '[::1]:8443', "a%C3%A9!$&'()*+,;=~"]) {
        assert.equal((await ask('GET', ORDERS, [['Host', host], KEY])).status, 200, host);
      }
      assert.equal(store.get(1n)?.status, 'pending');
    });

    test('a request with two Authorization fields gets 401 invalid_api_key, even if one is empty or has another scheme', async (t) => {
      const { ask } = await openShop(t, way);
      for (const other of ['Basic dTpw', '']) {
        assertError(await ask('GET', ORDERS, [['Authorization', other], KEY]), 'invalid_api_key');
        assertError(await ask('GET', ORDERS, [KEY, ['AUTHORIZATION', other]]), 'invalid_api_key');
        assertError(
          await ask('GET', ORDERS, [
            ['Authorization', other],
            ['Authorization', 'Basic dTpw'],
          ]),
          'invalid_api_key',
        );
      }
    });
  });
}

test('createOrderService throws an error for an invalid base path', () => {
  const message =
    'basePath: expected "" or a path such as "/v1", with a slash before each segment and none after the last';
  for (const basePath of ['/v1/', 'v1', '/a b', '//', '/.', '/a/../b', "/a'b", '/a&b']) {
    assert.throws(() => createShop({ basePath }), { name: 'TypeError', message });
  }
});
