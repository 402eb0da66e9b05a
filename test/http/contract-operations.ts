import assert from 'node:assert/strict';
import { assertError, trioOf } from './answer.js';
import type { Clause } from './contract.js';
import { INT64_MAX, INT64_MIN, KEY, ORDERS, order } from './shop.js';

/** All of them texts that some parser of numbers would take for order 1, 0 or an end of the int64 range. */
const NO_IDS = [
  ...[
    'abc',
    '01',
    '+1',
    '1e0',
    '0x1',
    '1.0',
    '%31',
    '-0',
    '-',
    '1_',
    '1,',
    '%EF%BC%91',
    '%201',
    '1%20',
    '1;',
    '0b1',
    '00',
  ],
  ...['9223372036854775808', '-9223372036854775809', '18446744073709551617', '1'.repeat(400)],
  ...['constructor', '__proto__', 'NaN', 'null', 'undefined', 'true', '*'],
];

/** Specification, parts 3 and 4. */
export const operationClauses: readonly Clause[] = [
  {
    id: '4.1-list',
    says: 'GET /store/orders answers 200 with the full set of orders, ascending by id, int64 to the last digit',
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
    id: '4.1-no-parameters',
    says: 'the query of the list is ignored',
    check: async (ask) => {
      const whole = await ask('GET', ORDERS, [KEY]);
      for (const query of ['?', '?page=2&limit=1', '?/', '?a=//b/../c', '?api_key=x']) {
        const answer = await ask('GET', ORDERS + query, [KEY]);
        assert.deepEqual([answer.status, answer.text], [200, whole.text], query);
      }
      assert.equal((await ask('DELETE', `${order(1)}?id=2`, [KEY])).status, 204);
    },
  },
  {
    id: '4.1-head',
    says: 'HEAD on the list is GET without the body: same status, type and length',
    check: async (ask) => {
      const whole = await ask('GET', ORDERS, [KEY]);
      const head = await ask('HEAD', ORDERS, [KEY]);
      assert.equal(head.status, 200);
      assert.equal(head.text, '');
      assert.equal(head.fields.get('content-length'), `${whole.text.length}`);
      assert.equal(trioOf(head).remaining, trioOf(whole).remaining - 1, 'and it is charged as one');
      assert.equal((await ask('HEAD', ORDERS)).status, 401);
    },
  },
  {
    id: '4.1-cancelled-listed',
    says: 'a cancelled order is still listed',
    check: async (ask) => {
      const before = await ask('GET', ORDERS, [KEY]);
      assert.equal((await ask('DELETE', order(1), [KEY])).status, 204);
      assert.equal((await ask('GET', ORDERS, [KEY])).text, before.text);
    },
  },
  {
    id: '4.2-cancel',
    says: 'DELETE of a pending order answers 204 without a body and cancels it; a second time 409 order_already_cancelled',
    check: async (ask, { store }) => {
      assert.equal((await ask('DELETE', order(1), [KEY])).status, 204);
      assert.equal(store.get(1n)?.status, 'cancelled');
      assertError(await ask('DELETE', order(1), [KEY]), 'order_already_cancelled');
    },
  },
  {
    id: '4.2-not-found',
    says: 'DELETE of an order that does not exist answers 404 order_not_found',
    check: async (ask) => {
      for (const id of [404n, -1n, 9007199254740994n, INT64_MAX - 1n, INT64_MIN + 1n]) {
        assertError(await ask('DELETE', order(id), [KEY]), 'order_not_found');
      }
    },
  },
  {
    id: '3-states',
    says: 'only a pending order can be cancelled: shipped, cancelled and foreign states answer 409 and stay',
    check: async (ask, { store }) => {
      assertError(await ask('DELETE', order(2), [KEY]), 'order_already_shipped');
      assertError(await ask('DELETE', order(3), [KEY]), 'order_already_cancelled');
      assertError(await ask('DELETE', order(4), [KEY]), 'order_not_pending');
      assert.deepEqual(
        [2n, 3n, 4n].map((id) => store.get(id)?.status),
        ['shipped', 'cancelled', 'returned'],
      );
    },
  },
  {
    id: '4.2-int64',
    says: 'the id is an int64 to the last digit: the order meant is cancelled and its neighbours are not',
    check: async (ask, { store }) => {
      const meant = [9007199254740993n, INT64_MAX, INT64_MIN, -5n, 0n];
      for (const id of meant) assert.equal((await ask('DELETE', order(id), [KEY])).status, 204, `${id}`);
      const cancelled = store
        .list()
        .flat()
        .filter(({ id }) => store.get(id)?.status === 'cancelled');
      assert.deepEqual(
        new Set(cancelled.map(({ id }) => id)),
        new Set([...meant, 3n]),
        'and order 3, which was cancelled before',
      );
    },
  },
  {
    id: '4.2-no-id',
    says: 'what is no canonical int64 answers 404 invalid_order_id and cancels nothing',
    check: async (ask, { store }) => {
      const statuses = () =>
        store
          .list()
          .flat()
          .map(({ id }) => store.get(id)?.status);
      const before = statuses();
      for (const text of NO_IDS) {
        assertError(await ask('DELETE', order(text), [KEY]), 'invalid_order_id');
      }
      assert.deepEqual(statuses(), before);
    },
  },
  {
    id: '4.2-once',
    says: 'of 1,000 concurrent DELETEs of one order exactly one answers 204',
    check: async (ask) => {
      const answers = await Promise.all(Array.from({ length: 1_000 }, () => ask('DELETE', order(1), [KEY])));
      const count = (status: number) => answers.filter((answer) => answer.status === status).length;
      assert.deepEqual([count(204), count(409)], [1, 999]);
    },
  },
];
