import assert from 'node:assert/strict';
import { PLANS } from '../../limits/index.js';
import { bearer, type Clause, ORDERS_PATH, type Subject } from './audit.js';
import { assertError, dayQuotaOf, rateLimitOf, retryAfterOf } from './response.js';

/** The clauses about the quotas of the plans (specification, part 8). */
export const planClauses: readonly Clause[] = [
  {
    id: '8-plans',
    level: 'MUST',
    requirement: 'allow 60 requests a minute on the Free plan, 300 on Pro and 1,000 on Business',
    needs: ['issueKey'],
    async check({ ask, issueKey }) {
      for (const [plan, limit] of [
        [PLANS.free, 60],
        [PLANS.pro, 300],
        [PLANS.business, 1_000],
      ] as const) {
        const { limit: shown, remaining } = rateLimitOf(await ask('GET', ORDERS_PATH, bearer(await issueKey(plan))));
        assert.deepEqual([shown, remaining], [limit, limit - 1], plan.name);
      }
    },
  },
  {
    id: '8-plans-day',
    level: 'MUST',
    requirement: 'allow 1,000 requests a day on the Free plan, 10,000 on Pro and 100,000 on Business',
    needs: ['issueKey', 'clock'],
    async check(subject) {
      for (const [plan, limit] of [
        [PLANS.free, 1_000],
        [PLANS.pro, 10_000],
        [PLANS.business, 100_000],
      ] as const) {
        const credential = bearer(await subject.issueKey(plan));
        const announced = dayQuotaOf(await subject.ask('GET', ORDERS_PATH, credential));
        // Without an announcement only Free is counted: the others would take 110,000 requests.
        if (announced === undefined && plan !== PLANS.free) continue;
        assert.equal(announced ?? (await countDay(subject, credential, limit)), limit, plan.name);
      }
    },
  },
];

/** Sends requests, after a first one, until the day refuses or more than `limit` have passed. Returns how many passed. */
async function countDay(subject: Subject, credential: readonly [string, string], limit: number): Promise<number> {
  for (let passed = 1; passed <= limit; passed++) {
    const response = await subject.ask('GET', ORDERS_PATH, credential);
    if (response.status === 200) continue;
    assertError(response, 429);
    if (retryAfterOf(response) > 60) return passed;
    await subject.advance(retryAfterOf(response) * 1_000);
    assert.equal((await subject.ask('GET', ORDERS_PATH, credential)).status, 200, 'after waiting');
  }
  return limit + 1;
}
