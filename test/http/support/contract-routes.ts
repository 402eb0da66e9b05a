import assert from 'node:assert/strict';
import { assertError } from './answer.js';
import type { Clause } from './clause.js';
import { INT64_MAX, INT64_MIN, KEY, ORDERS, order } from './shop.js';

/**
 * The clauses of part 4 of the specification: which requests name an operation, and which do not.
 */
export const routeClauses: readonly Clause[] = [
  {
    id: '4.1-list',
    says: 'GET /store/orders returns 200 and all orders in ascending order of their ids, with all digits of an int64',
    check: async (ask) => {
      const { status, fields, text } = await ask('GET', ORDERS, [KEY]);
      assert.equal(status, 200);
      assert.equal(fields.get('content-length'), `${text.length}`);
      assert.equal(
        text,
        `[{"id":${INT64_MIN}},{"id":-5},{"id":0},` +
          '{"id":1,"petId":7,"quantity":2,"shipDate":"2026-02-03T04:05:06Z","complete":false},' +
          '{"id":2},{"id":3},{"id":4},{"id":9007199254740991},{"id":9007199254740992},{"id":9007199254740993},' +
          `{"id":${INT64_MAX}}]`,
      );
    },
  },
  {
    id: '4-route',
    says: 'a path that the specification does not define gets 404 route_not_found, even if normalising it would give a defined path',
    check: async (ask, { store }) => {
      const paths = [
        ...['/', '/v1', '/v2/store/orders', '/store/orders', '/v1/store', '/v1/store/order', '/V1/store/orders'],
        ...[
          `${ORDERS}/`,
          `${ORDERS}//`,
          `${ORDERS}x`,
          `${ORDERS}/1/`,
          `${ORDERS}/1/2`,
          `${ORDERS}//1`,
          `${ORDERS};x=1`,
        ],
        ...['//v1/store/orders', '/v1//store/orders/1', '/v1/store%2Forders', '/%761/store/orders', '/__proto__'],
        `/?${ORDERS}`,
      ];
      for (const path of paths) {
        assertError(await ask('DELETE', path, [KEY]), 'route_not_found');
        assertError(await ask('GET', path, [KEY]), 'route_not_found');
      }
      assert.equal(store.get(1n)?.status, 'pending');
    },
  },
  {
    id: '4-targets',
    says: 'a request target in absolute form is matched by its path; `//`, `*` and dot segments match no operation',
    verbatim: true,
    check: async (ask) => {
      for (const base of ['http://orders.test', 'HTTPS://[::1]:8443']) {
        assert.equal((await ask('GET', `${base}${ORDERS}?x`, [KEY])).status, 200, base);
      }
      assert.equal((await ask('DELETE', `http://orders.test${order(1)}`, [KEY])).status, 204);
      for (const authority of ['user@orders.test', 'user:secret@orders.test', 'orders.test:x', '[::1']) {
        assertError(await ask('DELETE', `http://${authority}${order(0)}`, [KEY]), 'bad_request');
      }
      const foreign = [
        '//',
        '*',
        '/v1/./store/orders',
        '/v1/x/../store/orders',
        'http://orders.test',
        'ftp://h/v1/store/orders',
      ];
      foreign.push(`http://${ORDERS}`, 'http://orders.test?/v1/store/orders', `//orders.test${ORDERS}`);
      for (const target of foreign) {
        assertError(await ask('GET', target, [KEY]), 'route_not_found');
        assertError(await ask('OPTIONS', target, [KEY]), 'route_not_found');
      }
    },
  },
  {
    id: '4-uri-too-long',
    says: 'a request target of more than 8,192 characters gets 414 on the paths of the service',
    check: async (ask) => {
      const room = 8_192 - ORDERS.length - 1;
      // The fetch mount counts the origin of the URL too, so its limit is reached up to 30
      // characters earlier.
      assert.equal((await ask('GET', `${ORDERS}?${'x'.repeat(room - 30)}`, [KEY])).status, 200);
      assertError(await ask('GET', `${ORDERS}?${'x'.repeat(room + 1)}`, [KEY]), 'uri_too_long');
      assertError(await ask('DELETE', `${ORDERS}/${'1'.repeat(room + 1)}`, [KEY]), 'uri_too_long');
      assertError(await ask('DELETE', `${ORDERS}/1?${'1'.repeat(room)}`, [KEY]), 'uri_too_long');
      assertError(await ask('GET', `/${'x'.repeat(9_000)}`, [KEY]), 'route_not_found');
    },
  },
  {
    id: '4-content',
    says: 'a GET or DELETE with a body is served, but the body is not read and the connection is closed',
    verbatim: true,
    check: async (ask) => {
      const list = await ask('GET', ORDERS, [KEY], 'DELETE /v1/store/orders/1 HTTP/1.1\r\n\r\n');
      assert.deepEqual([list.status, list.fields.get('connection')], [200, 'close']);
      const cancel = await ask('DELETE', order(1), [KEY], '{"id":2}');
      assert.deepEqual([cancel.status, cancel.fields.get('connection')], [204, 'close']);
      const empty = await ask('DELETE', order(0), [KEY, ['Content-Length', '0']]);
      assert.deepEqual([empty.status, empty.fields.get('connection') === 'close'], [204, false]);
    },
  },
  {
    id: '4-host',
    says: 'a request with several Host fields or an invalid Host gets 400 bad_request, with or without a key',
    verbatim: true,
    check: async (ask, { store }) => {
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
        assertError(await ask('GET', ORDERS, fields), 'bad_request');
        assertError(await ask('GET', '/', fields), 'bad_request');
      }
      for (const host of ['orders.test', 'a:', 'A-b_c.d:65536', '127.0.0.1:80', '[::1]:8443', "a%C3%A9!$&'()*+,;=~"]) {
        assert.equal((await ask('GET', ORDERS, [['Host', host], KEY])).status, 200, host);
      }
      assert.equal(store.get(1n)?.status, 'pending');
    },
  },
];
