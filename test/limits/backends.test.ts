import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createMemoryOrderStore, createOrderService } from 'store-orders';
import { createPlan, type Decision, type Plan } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { createManualClock } from 'store-orders/testing';
import { plainDecision } from '../../dist/limits/limiter.js';
import { createStatefulLimiter, type StatefulLimiter } from '../../dist/limits/memory/limiter.js';
import { skip } from '../support/redis-server.js';
import { useRedis } from './redis/support/redis.js';
import { keyPlan, plansToPack } from './support/arbitraries.js';

// Three limiters get the same requests at the same instants, and must return equal decisions and
// replies. The first is a memory limiter that packs its state into bytes. The second is a memory
// limiter with state that it cannot pack, so that it applies `decide` (src/limits/rule.ts). The
// third is the Redis limiter.

/** The number of operations. For a long run, set the environment variable `OPERATIONS`. */
const OPERATIONS = Number(process.env['OPERATIONS'] ?? 4_000);
const SEED = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
const PER_HISTORY = 300;

const redisClient = useRedis();

/**
 * A bucket that belongs to no plan, so that the memory limiter cannot pack the key's state and
 * applies `decide` every time.
 */
const UNPACKABLE = { name: 'other', windowMs: 10 ** 14, refill: 'continuous', taken: 1, atMs: 1 } as const;

/** Returns the state of a key without {@link UNPACKABLE}, its buckets in a fixed order. */
function stateOf(limiter: StatefulLimiter, key: string): object {
  const { buckets = [], ban } = limiter.inspect(key) ?? {};
  const text = buckets.filter(({ name }) => name !== UNPACKABLE.name).map((bucket) => JSON.stringify(bucket));
  return { buckets: text.sort(), ban };
}

/** Returns the reply that a client gets for a decision, with all headers. */
async function replyTo(decision: Decision): Promise<unknown> {
  const service = createOrderService({
    store: createMemoryOrderStore(),
    limiter: { take: () => decision },
    authenticate: (id) => ({ id, plan: decision.plan }),
  });
  const { status, headers } = await service.respond({
    method: 'GET',
    url: '/v1/store/orders',
    rawHeaders: ['Authorization', 'Bearer key'],
  });
  return { status, headers };
}

/** Makes windows and bans longer. */
function slower({ name, policies, ban }: Plan, scale: number): Plan {
  return createPlan({
    name,
    policies: policies.map((policy) => {
      return policy.windowMs < 1_000 ? { ...policy, windowMs: policy.windowMs * scale } : policy;
    }),
    ban: ban && {
      ...ban,
      withinMs: ban.withinMs * scale,
      baseMs: ban.baseMs * scale,
      maxMs: ban.maxMs * scale,
      forgetMs: ban.forgetMs * scale,
    },
  });
}

test('the memory limiter, with or without packed state, decides as the Redis limiter does', { skip }, async (t) => {
  const client = redisClient();
  const random = fc.sample(fc.infiniteStream(fc.nat()), { seed: SEED, numRuns: 1 })[0] ?? assert.fail();
  const below = (end: number) => random.next().value % end;
  t.diagnostic(`SEED=${SEED}`);
  const verdicts = { within_quota: 0, over_quota: 0, banned: 0 };
  let operations = 0;

  for (let history = 0; operations < OPERATIONS; history++) {
    const scale = [1, 1, 250][history % 3] ?? 1;
    // With several keys, a request of one key can remove the expired state of another. If the clock
    // then stepped back, the limiters would differ.
    const keys = history % 5 === 0 ? ['one', 'two', 'three'] : ['one'];
    const anyPlans = history % 2 === 0 ? plansToPack : fc.tuple(keyPlan, keyPlan, keyPlan);
    const [plans = assert.fail()] = fc.sample(anyPlans, { seed: SEED + history, numRuns: 1 });
    const clock = createManualClock(1_000_000_007);
    let offsetMs = 0;
    const shownClock = { nowMs: clock.nowMs, utcOffsetMs: () => offsetMs };
    const packed = createStatefulLimiter({ clock: shownClock });
    const byRule = createStatefulLimiter({ clock: shownClock });
    const redis = createRedisLimiter({
      send: (command) => client.call(...command),
      clock: shownClock,
      prefix: `${history}:`,
      deadlineMs: 10_000,
      refusalCacheMs: 0,
    });
    const limiters = [packed, byRule, redis];
    // A plan that is not frozen, so that it can change in place.
    const changing = structuredClone(slower(plans[0], scale));
    const choices = [...plans.map((plan) => slower(plan, scale)), changing];
    let retryAfterMs = 0;
    let plan = choices[0] ?? assert.fail();
    const makeUnpackable = (key: string) => byRule.restore(key, { buckets: [UNPACKABLE] });
    keys.forEach(makeUnpackable);

    const request = async (method: 'take' | 'peek', key: string, cost: number) => {
      const most = Math.min(cost, ...plan.policies.map(({ quota }) => quota));
      const [mine = assert.fail(), ...others] = await Promise.all(
        limiters.map((limiter) => limiter[method](key, plan, most)),
      );
      const reply = await replyTo(mine);
      for (const other of others) {
        assert.deepEqual(plainDecision(other), plainDecision(mine));
        assert.deepEqual(await replyTo(other), reply);
      }
      verdicts[mine.verdict]++;
      retryAfterMs = mine.retryAfterMs;
    };

    for (let n = 0; n < PER_HISTORY; n++, operations++) {
      const key = keys[below(keys.length)] ?? assert.fail();
      const dice = below(100);
      if (dice < 50) await request('take', key, below(5) === 0 ? below(7) : 1);
      else if (dice < 56) await request('peek', key, below(3));
      else if (dice < 70) clock.advance((below(4) === 0 ? below(40) : below(4)) * scale);
      else if (dice < 72) offsetMs = below(60) - 30;
      else if (dice < 74) clock.advance(keys.length === 1 ? -below(60) * scale : 0);
      else if (dice < 80) clock.advance(Math.max(0, retryAfterMs - below(2)));
      else if (dice < 88) plan = choices[below(choices.length)] ?? plan;
      else if (dice < 93) Object.assign(changing.policies[0] ?? {}, { quota: 1 + below(6) });
      else if (dice < 95) {
        const ms = 1 + below(30) * scale;
        for (const limiter of limiters) await limiter.ban(key, ms);
      } else if (dice < 97) {
        for (const limiter of limiters) await limiter.unban(key);
      } else if (dice < 98) {
        for (const limiter of limiters) await limiter.reset(key);
        makeUnpackable(key);
      } else if (keys.length === 1) {
        assert.deepEqual(stateOf(byRule, key), stateOf(packed, key));
      }
    }
  }
  t.diagnostic(`${operations} operations, ${JSON.stringify(verdicts)}`);
  for (const count of Object.values(verdicts)) assert.ok(count > operations / 20);
});
