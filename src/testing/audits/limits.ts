import assert from 'node:assert/strict';
import { createPlan, PLANS, perDay, perMinute } from '../../limits/index.js';
import { bearer, type Clause, ORDERS_PATH, orderPath, type Subject } from './audit.js';
import { assertError, rateLimitOf, retryAfterOf } from './response.js';

/** Two windows, so small that a test can use up one and then the other. */
const TINY = createPlan({ name: 'tiny', policies: [perMinute(2), perDay(5)], ban: false });

/**
 * A plan with bans of one minute. For one second after the first refusal, further refusals are
 * forgiven. The first refusal after that second begins a ban.
 */
const STRICT = createPlan({ name: 'strict', policies: [perMinute(1)], ban: { after: 1, graceMs: 1_000 } });

/** The clauses about rate limits (specification, part 8), bans (part 5) and error codes (part 7). */
export const limitClauses: readonly Clause[] = [
  {
    id: '8-headers',
    level: 'MUST',
    requirement: 'send X-RateLimit-Limit, -Remaining and -Reset with every response',
    needs: ['store', 'issueKey'],
    async check(subject) {
      await subject.put({ id: 1 }, { id: 2, status: 'shipped' });
      const credential = bearer(await subject.issueKey(PLANS.free));
      const tinyCredential = bearer(await subject.issueKey(TINY));
      const list = ['GET', ORDERS_PATH] as const;
      for (const [status, method, path, ...fields] of [
        [401, ...list],
        [401, ...list, bearer('nobody')],
        [200, ...list, credential],
        [204, 'DELETE', orderPath(1), credential],
        [404, 'DELETE', orderPath('abc'), credential],
        [409, 'DELETE', orderPath(2), credential],
        [405, 'POST', ORDERS_PATH, credential],
        [200, ...list, tinyCredential],
        [200, ...list, tinyCredential],
        [429, ...list, tinyCredential],
      ] as const) {
        const response = await subject.ask(method, path, ...fields);
        assert.equal(response.status, status, `${method} ${path}`);
        const { limit, remaining } = rateLimitOf(response);
        assert.ok(remaining <= limit, 'X-RateLimit-Remaining must be at most X-RateLimit-Limit');
      }
    },
  },
  {
    id: '8-every-request-costs',
    level: 'SHOULD',
    requirement: 'count every request within the limit once, even if the response is 404 or 405',
    needs: ['issueKey'],
    async check({ ask, issueKey }) {
      const credential = bearer(await issueKey(PLANS.free));
      let left = 60;
      for (const [method, path] of [
        ['GET', ORDERS_PATH],
        ['HEAD', ORDERS_PATH],
        ['DELETE', orderPath(-404_404n)],
        ['DELETE', orderPath('abc')],
        ['POST', ORDERS_PATH],
      ] as const) {
        assert.equal(rateLimitOf(await ask(method, path, credential)).remaining, --left, `${method} ${path}`);
      }
    },
  },
  {
    id: '8-429',
    level: 'MUST',
    requirement: 'respond with 429 and Retry-After to requests over the limit, and only to those',
    needs: ['issueKey'],
    async check({ ask, issueKey }) {
      const credential = bearer(await issueKey(PLANS.free));
      for (let left = 59; left >= 0; left--) {
        const response = await ask('GET', ORDERS_PATH, credential);
        assert.deepEqual([response.status, rateLimitOf(response).remaining], [200, left]);
      }
      const refused = await ask('GET', ORDERS_PATH, credential);
      assertError(refused, 429);
      assert.equal(rateLimitOf(refused).remaining, 0);
      assert.ok(retryAfterOf(refused) <= 60, 'Retry-After must be at most the length of the window');
    },
  },
  {
    id: '8-retry-after',
    level: 'MUST',
    requirement:
      'allow a request after the wait that Retry-After announces, whether the minute or the day quota was used up',
    needs: ['issueKey', 'clock'],
    async check(subject) {
      const key = await subject.issueKey(TINY);
      await subject.advance(777);
      const refusingQuotas = [];
      for (let passed = 0; passed < 7; passed++) {
        const response = await subject.ask('GET', ORDERS_PATH, bearer(key));
        if (response.status === 200) continue;
        assertError(response, 429);
        const { limit } = rateLimitOf(response);
        refusingQuotas.push(limit);
        await subject.advance(retryAfterOf(response) * 1_000);
        assert.equal((await subject.ask('GET', ORDERS_PATH, bearer(key))).status, 200, `after waiting, limit ${limit}`);
      }
      assert.deepEqual(refusingQuotas, [2, 2, 5], 'X-RateLimit-Limit must be the quota of the window that refuses');
    },
  },
  {
    id: '8-retry-early',
    level: 'SHOULD',
    requirement: 'set Retry-After to the smallest number of whole seconds after which a request is allowed',
    needs: ['issueKey', 'clock'],
    async check(subject) {
      const refused = await exhaust(subject, await subject.issueKey(TINY), 12_345);
      await subject.advance((retryAfterOf(refused.response) - 1) * 1_000);
      const early = await subject.ask('GET', ORDERS_PATH, refused.credential);
      assertError(early, 429);
      assert.equal(retryAfterOf(early), 1);
    },
  },
  {
    id: '8-reset',
    level: 'MUST',
    requirement:
      'set X-RateLimit-Reset to the Unix time at which the limit resets, and keep it constant within a window',
    needs: ['issueKey', 'clock'],
    async check(subject) {
      const credential = bearer(await subject.issueKey(TINY));
      const { reset } = rateLimitOf(await subject.ask('GET', ORDERS_PATH, credential));
      await subject.advance(30_400);
      assert.equal(rateLimitOf(await subject.ask('GET', ORDERS_PATH, credential)).reset, reset);
      const refused = await subject.ask('GET', ORDERS_PATH, credential);
      assert.equal(rateLimitOf(refused).reset, reset);
      await subject.advance(retryAfterOf(refused) * 1_000);
      const next = rateLimitOf(await subject.ask('GET', ORDERS_PATH, credential));
      assert.equal(next.remaining, 1);
      assert.ok(next.reset > reset, 'the reset time of the next window must be later');
    },
  },
  {
    id: '8-refused-does-nothing',
    level: 'MUST',
    requirement: 'neither carry out nor count a request over the limit',
    needs: ['issueKey', 'store', 'clock'],
    async check(subject) {
      await subject.put({ id: 1 });
      const { credential } = await exhaust(subject, await subject.issueKey(TINY));
      for (let n = 0; n < 10; n++) assert.equal((await subject.ask('DELETE', orderPath(1), credential)).status, 429);
      await subject.advance(60_000);
      for (const status of [204, 409])
        assert.equal((await subject.ask('DELETE', orderPath(1), credential)).status, status);
    },
  },
  {
    id: '8-apart',
    level: 'MUST',
    requirement: 'charge a key for its own requests only',
    needs: ['issueKey'],
    async check(subject) {
      const credential = bearer(await subject.issueKey(PLANS.free));
      await exhaust(subject, await subject.issueKey(TINY));
      for (let n = 0; n < 10; n++) await subject.ask('GET', ORDERS_PATH, bearer('nobody'));
      const response = await subject.ask('GET', ORDERS_PATH, credential);
      assert.deepEqual([response.status, rateLimitOf(response).remaining], [200, 59]);
    },
  },
  {
    id: '5-ban',
    level: 'MAY',
    requirement: 'ban a key that keeps sending after 429, and do not move the end of the ban',
    needs: ['issueKey', 'store', 'clock'],
    async check(subject) {
      await subject.put({ id: 1 });
      const { credential } = await exhaust(subject, await subject.issueKey(STRICT));
      await subject.advance(50_001);
      const banned = await subject.ask('DELETE', orderPath(1), credential);
      assertError(banned, 429);
      assert.equal(retryAfterOf(banned), 60);
      const announced = rateLimitOf(banned);
      assert.deepEqual([announced.limit, announced.remaining], [1, 0]);
      await subject.advance(59_000);
      const last = await subject.ask('DELETE', orderPath(1), credential);
      assert.equal(retryAfterOf(last), 1);
      assert.deepEqual(rateLimitOf(last), announced, 'X-RateLimit-* must stay the same during the ban');
      const otherCredential = bearer(await subject.issueKey(PLANS.free));
      assert.equal(
        (await subject.ask('GET', ORDERS_PATH, otherCredential)).status,
        200,
        'another key must not be banned',
      );
      await subject.advance(1_000);
      assert.equal((await subject.ask('DELETE', orderPath(1), credential)).status, 204);
    },
  },
  {
    id: '7-codes',
    level: 'MAY',
    requirement: 'use the error codes of this package',
    needs: ['issueKey', 'store', 'clock'],
    async check(subject) {
      await subject.put({ id: 1, status: 'cancelled' }, { id: 2, status: 'shipped' }, { id: 3, status: 'returned' });
      const credential = bearer(await subject.issueKey(PLANS.free));
      const { credential: strictCredential, response } = await exhaust(subject, await subject.issueKey(STRICT));
      assert.equal(assertError(response, 429), 'rate_limit_exceeded');
      await subject.advance(1_001);
      for (const [code, status, method, path, ...fields] of [
        ['api_key_banned', 429, 'GET', ORDERS_PATH, strictCredential],
        ['missing_api_key', 401, 'GET', ORDERS_PATH],
        ['missing_api_key', 401, 'GET', ORDERS_PATH, ['Authorization', 'Basic dTpw']],
        ['invalid_api_key', 401, 'GET', ORDERS_PATH, bearer('nobody')],
        ['invalid_api_key', 401, 'GET', ORDERS_PATH, credential, credential],
        ['order_not_found', 404, 'DELETE', orderPath(-404_404n), credential],
        ['invalid_order_id', 404, 'DELETE', orderPath('01'), credential],
        ['method_not_allowed', 405, 'POST', ORDERS_PATH, credential],
        ['order_already_cancelled', 409, 'DELETE', orderPath(1), credential],
        ['order_already_shipped', 409, 'DELETE', orderPath(2), credential],
        ['order_not_pending', 409, 'DELETE', orderPath(3), credential],
        ['uri_too_long', 414, 'GET', `${ORDERS_PATH}?${'x'.repeat(8_192)}`, credential],
      ] as const) {
        assert.equal(assertError(await subject.ask(method, path, ...fields), status, code), code);
      }
    },
  },
];

/** Uses up the minute quota of a key, and returns the refusal of a request `afterMs` later. */
async function exhaust(subject: Subject, apiKey: string, afterMs = 0) {
  const credential = bearer(apiKey);
  for (let n = 0; n < 60; n++) {
    const response = await subject.ask('GET', ORDERS_PATH, credential);
    if (rateLimitOf(response).remaining > 0) continue;
    await subject.advance(afterMs);
    return { credential, response: await subject.ask('GET', ORDERS_PATH, credential) };
  }
  return assert.fail('60 requests did not use up a quota of at most 2 requests a minute');
}
