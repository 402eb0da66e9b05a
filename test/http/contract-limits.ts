import assert from 'node:assert/strict';
import { assertError, retryAfterOf, trioOf } from './answer.js';
import type { Clause } from './contract.js';
import { bearer, KEY, ORDERS } from './shop.js';
import type { Ask } from './ways.js';

const MINUTE = 60;
const DAY = 86_400;
const TINY_KEY = bearer('tiny-key');
const STRICT_KEY = bearer('strict-key');

async function exhaustAddress(ask: Ask): Promise<void> {
  for (let left = 599; left >= 0; left--) {
    const answer = await ask('GET', ORDERS, [bearer('nobody')]);
    assertError(answer, 'invalid_api_key');
    assert.equal(trioOf(answer).remaining, left);
  }
}

/** Specification, part 8, and what LIMITS adds where it is silent. */
export const limitClauses: readonly Clause[] = [
  {
    id: '8-countdown',
    says: 'Remaining is exact down to the 429, first of the minute, then of the day, and always of one window',
    check: async (ask, { clock }) => {
      const startS = clock.nowMs() / 1_000;
      const expectNext = async (status: number, limit: number, remaining: number, reset: number) => {
        const answer = await ask('GET', ORDERS, [TINY_KEY]);
        assert.equal(answer.status, status);
        assert.deepEqual(trioOf(answer), { limit, remaining, reset });
        return answer;
      };
      await expectNext(200, 2, 1, startS + MINUTE);
      await expectNext(200, 2, 0, startS + MINUTE);
      const overMinute = await expectNext(429, 2, 0, startS + MINUTE);
      assertError(overMinute, 'rate_limit_exceeded');
      assert.equal(retryAfterOf(overMinute), MINUTE);
      clock.advance(MINUTE * 1_000);
      await expectNext(200, 2, 1, startS + 2 * MINUTE);
      await expectNext(200, 2, 0, startS + 2 * MINUTE);
      clock.advance(MINUTE * 1_000);
      await expectNext(200, 5, 0, startS + DAY);
      const overDay = await expectNext(429, 5, 0, startS + DAY);
      assertError(overDay, 'rate_limit_exceeded');
      assert.equal(retryAfterOf(overDay), DAY - 2 * MINUTE);
      clock.advance((DAY - 2 * MINUTE) * 1_000);
      await expectNext(200, 2, 1, startS + DAY + MINUTE);
    },
  },
  {
    id: '8-retry-after',
    says: 'waiting for Retry-After suffices, and one second less does not',
    check: async (ask, { clock }) => {
      clock.advance(777);
      await ask('GET', ORDERS, [TINY_KEY]);
      await ask('GET', ORDERS, [TINY_KEY]);
      clock.advance(12_345);
      const refused = await ask('GET', ORDERS, [TINY_KEY]);
      const wait = retryAfterOf(refused);
      assert.equal(wait, 48);
      clock.advance((wait - 1) * 1_000);
      const early = await ask('GET', ORDERS, [TINY_KEY]);
      assertError(early, 'rate_limit_exceeded');
      assert.equal(retryAfterOf(early), 1);
      assert.equal(trioOf(early).reset, trioOf(refused).reset, 'the reset does not wobble');
      clock.advance(1_000);
      assert.equal((await ask('GET', ORDERS, [TINY_KEY])).status, 200);
    },
  },
  {
    id: '8-refused-does-nothing',
    says: 'a request over the limit does nothing: neither cancels nor uses quota',
    check: async (ask, { clock, store }) => {
      await ask('GET', ORDERS, [TINY_KEY]);
      await ask('GET', ORDERS, [TINY_KEY]);
      for (let i = 0; i < 10; i++) assert.equal((await ask('DELETE', `${ORDERS}/1`, [TINY_KEY])).status, 429);
      assert.equal(store.get(1n)?.status, 'pending');
      clock.advance(MINUTE * 1_000);
      for (const status of [204, 409]) {
        assert.equal((await ask('DELETE', `${ORDERS}/1`, [TINY_KEY])).status, status);
      }
    },
  },
  {
    id: '8-every-request-costs',
    says: 'every request with a valid key costs one token whatever comes of it',
    check: async (ask) => {
      let left = 60;
      for (const [method, path] of [
        ['GET', ORDERS],
        ['DELETE', `${ORDERS}/1`],
        ['DELETE', `${ORDERS}/404`],
        ['DELETE', `${ORDERS}/abc`],
        ['DELETE', `${ORDERS}/2`],
        ['POST', ORDERS],
        ['GET', '/nothing'],
        ['HEAD', ORDERS],
      ] as const) {
        const { remaining } = trioOf(await ask(method, path, [bearer('free-key')]));
        assert.equal(remaining, --left, `${method} ${path}`);
      }
    },
  },
  {
    id: '8-plans',
    says: 'a free key has 60 requests a minute and a business key 1,000',
    check: async (ask) => {
      assert.equal(trioOf(await ask('GET', ORDERS, [bearer('free-key')])).limit, 60);
      assert.equal(trioOf(await ask('GET', ORDERS, [KEY])).limit, 1_000);
    },
  },
  {
    id: '8-address',
    says: 'requests without a valid key are limited by address, and a valid key of the same address is never charged',
    check: async (ask) => {
      await exhaustAddress(ask);
      const refused = await ask('GET', ORDERS);
      assertError(refused, 'rate_limit_exceeded');
      assert.deepEqual([trioOf(refused).limit, retryAfterOf(refused)], [600, MINUTE]);
      const served = await ask('GET', ORDERS, [KEY]);
      assert.equal(served.status, 200);
      assert.deepEqual([trioOf(served).limit, trioOf(served).remaining], [1_000, 999]);
    },
  },
  {
    id: '8-address-vice-versa',
    says: 'the requests of a valid key, refused ones too, are not charged to its address',
    check: async (ask) => {
      for (let i = 0; i < 4; i++) await ask('GET', ORDERS, [TINY_KEY]);
      assert.equal(trioOf(await ask('GET', ORDERS)).remaining, 599);
    },
  },
  {
    id: '5-ban',
    says: 'a key that goes on after 429 is banned for a time, 429 api_key_banned, and the end of the ban never moves',
    check: async (ask, { clock, store }) => {
      assert.equal((await ask('GET', ORDERS, [STRICT_KEY])).status, 200);
      assertError(await ask('GET', ORDERS, [STRICT_KEY]), 'rate_limit_exceeded');
      clock.advance(1_000);
      assertError(await ask('GET', ORDERS, [STRICT_KEY]), 'rate_limit_exceeded');
      clock.advance(49_001);
      const banned = await ask('DELETE', `${ORDERS}/1`, [STRICT_KEY]);
      assertError(banned, 'api_key_banned');
      assert.equal(retryAfterOf(banned), MINUTE);
      clock.advance(59_000);
      const still = await ask('DELETE', `${ORDERS}/1`, [STRICT_KEY]);
      assertError(still, 'api_key_banned');
      assert.equal(retryAfterOf(still), 1);
      assert.equal(trioOf(still).remaining, 0);
      assert.equal(store.get(1n)?.status, 'pending');
      assert.equal((await ask('GET', ORDERS, [KEY])).status, 200, 'another key is not banned');
      clock.advance(1_000);
      assert.equal((await ask('DELETE', `${ORDERS}/1`, [STRICT_KEY])).status, 204);
    },
  },
];
