import assert from 'node:assert/strict';
import { PLANS } from '../../limits/index.js';
import { parseJson } from '../../orders/json.js';
import { INT64_MAX, INT64_MIN } from '../../orders/order.js';
import { EDGE_IDS } from '../suites/order-store.js';
import { bearer, type Clause, ORDERS_PATH, orderPath } from './audit.js';
import { assertError, assertStatus, type ReadResponse } from './response.js';

/** Texts that are not ids. Number parsers read some of them as 1, 0 or a limit of int64. */
const INVALID_IDS = [
  ...['01', '+1', '1e0', '0x1', '0b1', '1.0', '%31', '%201', '1%20', '-0', '00', '1_', '1,', '1;', '%EF%BC%91', '-'],
  ...['9223372036854775808', '-9223372036854775809', '18446744073709551617', '1'.repeat(400)],
  ...['abc', 'NaN', 'null', 'undefined', 'true', '*', 'constructor', '__proto__'],
];

const FULL_ORDER = {
  id: 2n ** 53n + 1n,
  petId: INT64_MAX,
  quantity: 2n,
  shipDate: '2026-02-03T04:05:06Z',
  complete: false,
};

/** The clauses of the specification's parts 2 to 4: orders, and how to list and cancel them. */
export const orderClauses: readonly Clause[] = [
  {
    id: '4.1-list',
    level: 'MUST',
    requirement:
      'respond to GET /store/orders with 200 and a JSON array of all orders, with every digit of their numbers',
    needs: ['store'],
    async check(subject) {
      const many = Array.from({ length: 250 }, (_, index) => ({ id: 700_000n + BigInt(index) }));
      await subject.put(FULL_ORDER, ...many);
      const response = await subject.askWithKey('GET', ORDERS_PATH);
      const listed = ordersOf(response);
      for (const { id } of many) assert.ok(listed.has(id), `order ${id} must be listed`);
      const order = listed.get(2n ** 53n + 1n) ?? assert.fail('order 9007199254740993 is not listed');
      for (const [name, value] of Object.entries(FULL_ORDER)) assert.equal(Reflect.get(order, name), value, name);
    },
  },
  {
    id: '4.1-ascending',
    level: 'SHOULD',
    requirement: 'list the orders ascending by id',
    async check(subject) {
      await subject.put({ id: 10 }, { id: 9 }, { id: -9 });
      const ids = [...ordersOf(await subject.askWithKey('GET', ORDERS_PATH)).keys()];
      assert.deepEqual(
        ids,
        ids.toSorted((a, b) => (a < b ? -1 : 1)),
      );
    },
  },
  {
    id: '4.1-absent',
    level: 'SHOULD',
    requirement: 'list an order without its status, and without fields that have no value',
    needs: ['store'],
    async check(subject) {
      await subject.put({ id: 700_000n, status: 'shipped' });
      const listed = ordersOf(await subject.askWithKey('GET', ORDERS_PATH)).get(700_000n);
      assert.deepEqual({ ...listed }, { id: 700_000n });
    },
  },
  {
    id: '4.1-no-parameters',
    level: 'SHOULD',
    requirement: 'ignore query parameters, and always list all orders',
    async check(subject) {
      await subject.put({ id: 1 }, { id: 2 });
      const whole = await subject.askWithKey('GET', ORDERS_PATH);
      for (const query of ['?', '?page=2&limit=1', '?/', '?a=//b/../c', '?id=1']) {
        const { status, text } = await subject.askWithKey('GET', ORDERS_PATH + query);
        assert.deepEqual([status, text], [200, whole.text], query);
      }
    },
  },
  {
    id: '4.1-head',
    level: 'MUST',
    requirement: 'respond to HEAD as to GET, but without a body (RFC 9110, section 9.3.2)',
    async check(subject) {
      const whole = await subject.askWithKey('GET', ORDERS_PATH);
      const head = await subject.askWithKey('HEAD', ORDERS_PATH);
      assert.deepEqual([head.status, head.text], [whole.status, '']);
      assert.equal(head.headers.get('content-type'), whole.headers.get('content-type'));
      const length = whole.headers.get('content-length');
      // If the response to GET was streamed, it has no Content-Length, but the later response to
      // HEAD may have one.
      if (length !== null) assert.equal(head.headers.get('content-length'), length);
    },
  },
  {
    id: '4.2-cancel',
    level: 'MUST',
    requirement: 'respond to DELETE of a pending order with 204 and no content',
    needs: ['store'],
    async check(subject) {
      await subject.put({ id: 700_000n });
      assertCancelled(await subject.askWithKey('DELETE', orderPath(700_000n)));
    },
  },
  {
    id: '4.2-json',
    level: 'MUST',
    requirement: 'ignore the Content-Type of a DELETE that has no body',
    needs: ['store'],
    async check(subject) {
      for (const type of [
        'application/json',
        'text/plain',
        'application/x-www-form-urlencoded',
        'x/y; q="',
        'nonsense',
      ]) {
        await subject.put({ id: 700_000n });
        assertCancelled(await subject.askWithKey('DELETE', orderPath(700_000n), ['Content-Type', type]), type);
      }
    },
  },
  {
    id: '4.2-if-match',
    level: 'MUST',
    requirement:
      'respond with 412 to a DELETE with a tag in If-Match, and cancel nothing, because orders have no tags (RFC 9110, section 13.1.1)',
    needs: ['store'],
    async check(subject) {
      await subject.put({ id: 700_000n });
      assertError(await subject.askWithKey('DELETE', orderPath(700_000n), ['If-Match', '"a"']), 412);
      assertCancelled(await subject.askWithKey('DELETE', orderPath(700_000n), ['If-Match', '*']));
    },
  },
  {
    id: '4.2-listed',
    level: 'SHOULD',
    requirement: 'still list a cancelled order, and respond to a second DELETE with 409',
    needs: ['store'],
    async check(subject) {
      await subject.put({ id: 700_000n });
      const before = await subject.askWithKey('GET', ORDERS_PATH);
      assertCancelled(await subject.askWithKey('DELETE', orderPath(700_000n)));
      assertError(await subject.askWithKey('DELETE', orderPath(700_000n)), 409);
      assert.equal((await subject.askWithKey('GET', ORDERS_PATH)).text, before.text);
    },
  },
  {
    id: '4.2-not-found',
    level: 'MUST',
    requirement: 'respond with 404 to DELETE of an order that does not exist',
    async check(subject) {
      for (const id of [-404_404n, 2n ** 53n + 5n, INT64_MAX - 7n]) {
        assertError(await subject.askWithKey('DELETE', orderPath(id)), 404);
      }
    },
  },
  {
    id: '3-shipped',
    level: 'MUST',
    requirement: 'respond to every DELETE of a shipped order with 409',
    needs: ['store'],
    async check(subject) {
      await subject.put({ id: 700_001n, status: 'shipped' });
      for (const _ of [1, 2]) assert.equal((await subject.askWithKey('DELETE', orderPath(700_001n))).status, 409);
    },
  },
  {
    id: '3-pending-only',
    level: 'MUST',
    requirement: 'cancel only an order whose status is pending',
    needs: ['store'],
    async check(subject) {
      for (const status of ['shipped', 'cancelled', 'returned']) {
        await subject.put({ id: 700_002n, status });
        assert.notEqual((await subject.askWithKey('DELETE', orderPath(700_002n))).status, 204, status);
      }
    },
  },
  {
    id: '4.2-int64',
    level: 'MUST',
    requirement: 'cancel only the order with exactly this id, even if other ids differ only in the last digit',
    needs: ['store'],
    async check(subject) {
      for (const meant of EDGE_IDS) {
        await subject.put(...EDGE_IDS.map((id) => ({ id })));
        const key = await subject.issueKey(PLANS.business);
        assertCancelled(await subject.ask('DELETE', orderPath(meant), bearer(key)), `${meant}`);
        for (const id of EDGE_IDS) {
          const { status } = await subject.ask('DELETE', orderPath(id), bearer(key));
          assert.equal(status, id === meant ? 409 : 204, `order ${id} after a DELETE of ${meant}`);
        }
      }
    },
  },
  {
    id: '4.2-no-id',
    level: 'MUST',
    requirement: 'respond to DELETE of an invalid order id with 404, and cancel nothing',
    needs: ['store'],
    async check(subject) {
      const untouched = [1n, 0n, INT64_MAX, INT64_MIN];
      await subject.put(...untouched.map((id) => ({ id })));
      for (const text of INVALID_IDS) assertError(await subject.askWithKey('DELETE', orderPath(text)), 404, text);
      for (const id of untouched)
        assertCancelled(await subject.askWithKey('DELETE', orderPath(id)), `order ${id} must still be pending`);
    },
  },
  {
    id: '4.2-once',
    level: 'MUST',
    requirement: 'respond with 204 to exactly one of many concurrent DELETEs of one order',
    needs: ['store'],
    async check(subject) {
      await subject.put({ id: 700_000n });
      const credential = bearer(await subject.issueKey(PLANS.business));
      const responses = await Promise.all(
        Array.from({ length: 50 }, () => subject.ask('DELETE', orderPath(700_000n), credential)),
      );
      assert.deepEqual(responses.map(({ status }) => status).sort(), [204, ...Array(49).fill(409)]);
    },
  },
];

function assertCancelled({ status }: ReadResponse, which?: string): void {
  assertStatus(status, 204, which);
}

/** Returns the listed orders by id. Each integer in them is an exact `bigint`. */
function ordersOf({ status, headers, text }: ReadResponse): Map<bigint, object> {
  assert.equal(status, 200);
  assert.match(headers.get('content-type') ?? '', /^application\/json\b/);
  const listed: unknown = parseJson(text);
  assert.ok(Array.isArray(listed), 'the list must be a JSON array');
  return new Map(listed.map((order: unknown) => [idOf(order), { ...Object(order) }]));
}

function idOf(order: unknown): bigint {
  const id: unknown = typeof order === 'object' && order !== null ? Reflect.get(order, 'id') : undefined;
  assert.ok(typeof id === 'bigint', 'every order must have an integer as its id');
  return id;
}
