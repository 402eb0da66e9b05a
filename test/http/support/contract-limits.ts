import assert from 'node:assert/strict';
import { assertError, rateLimitOf, retryAfterOf } from './answer.js';
import type { Clause } from './clause.js';
import { bearer, KEY, ORDERS } from './shop.js';
import type { Ask } from './ways.js';

const MINUTE = 60;
const DAY = 86_400;
const TINY_KEY = bearer('tiny-key');

async function exhaustAddress(ask: Ask): Promise<void> {
  for (let left = 599; left >= 0; left--) {
    const answer = await ask('GET', ORDERS, [bearer('nobody')]);
    assertError(answer, 'invalid_api_key');
    assert.equal(rateLimitOf(answer).remaining, left);
  }
}

/** The clauses of part 8 of the specification, and decisions about what that part leaves open. */
export const limitClauses: readonly Clause[] = [
  {
    id: '8-countdown',
    says: 'X-RateLimit-* report the window with the fewest remaining requests: first the minute, and later the day',
    check: async (ask, { clock }) => {
      const startS = clock.nowMs() / 1_000;
      const expectNext = async (status: number, limit: number, remaining: number, reset: number) => {
        const answer = await ask('GET', ORDERS, [TINY_KEY]);
        assert.equal(answer.status, status);
        assert.deepEqual(rateLimitOf(answer), { limit, remaining, reset });
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
    id: '8-address',
    says: 'requests without a valid key are limited by address, and a valid key from the same address is not affected',
    check: async (ask) => {
      await exhaustAddress(ask);
      const refused = await ask('GET', ORDERS);
      assertError(refused, 'rate_limit_exceeded');
      assert.deepEqual([rateLimitOf(refused).limit, retryAfterOf(refused)], [600, MINUTE]);
      const served = await ask('GET', ORDERS, [KEY]);
      assert.equal(served.status, 200);
      assert.deepEqual([rateLimitOf(served).limit, rateLimitOf(served).remaining], [1_000, 999]);
    },
  },
  {
    id: '8-address-vice-versa',
    says: 'requests with a valid key, even refused ones, are not charged to the address',
    check: async (ask) => {
      for (let i = 0; i < 4; i++) await ask('GET', ORDERS, [TINY_KEY]);
      assert.equal(rateLimitOf(await ask('GET', ORDERS)).remaining, 599);
    },
  },
];
