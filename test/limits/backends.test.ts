import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { createMemoryOrderStore, createOrderService } from 'store-orders';
import { createMemoryLimiter, createPlan, type Decision, type KeyState, type Plan } from 'store-orders/limiter';
import { createRedisLimiter, type SendCommand } from 'store-orders/redis';
import { createManualClock } from 'store-orders/testing';
import { connectRedis, type RedisServer, skip, startRedis } from '../support/redis-server.js';
import { keyPlan, plansToPack } from './support/arbitraries.js';
import { plainDecision } from './support/plain-decision.js';

// Three limiters get the same requests at the same instants, and must return equal decisions and
// replies. The first is a memory limiter that packs its state into bytes. The second is a memory
// limiter with state that it cannot pack, so that it applies `decide` (src/limits/rule.ts). The
// third is the Redis limiter.

/** The number of operations. For a long run, set the environment variable `OPERATIONS`. */
const OPERATIONS = Number(process.env['OPERATIONS'] ?? 4_000);
const SEED = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
const PER_HISTORY = 300;

let server: RedisServer | undefined;
let stopClient = () => {};
let send: SendCommand;

before(async () => {
  if (skip) return;
  server = await startRedis();
  const client = connectRedis(server.port);
  send = (command) => client.call(...command);
  stopClient = () => client.disconnect();
});

after(async () => {
  stopClient();
  await server?.stop();
});

/**
 * A bucket that belongs to no plan, so that the memory limiter cannot pack the key's state and
 * applies `decide` every time.
 */
const UNPACKABLE = { name: 'other', windowMs: 10 ** 14, refill: 'continuous', taken: 1, atMs: 1 } as const;

function without({ buckets, ...rest }: KeyState): KeyState | undefined {
  const others = buckets.filter(({ name }) => name !== UNPACKABLE.name);
  return others.length === 0 && rest.ban === undefined ? undefined : { buckets: others, ...rest };
}

function sorted(state: KeyState | undefined): KeyState | undefined {
  const text = (bucket: object) => JSON.stringify(bucket);
  return state && { ...state, buckets: state.buckets.toSorted((a, b) => (text(a) < text(b) ? -1 : 1)) };
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

/** Changes the quota of a plan's first window in place. The plan must not be frozen. */
function mutate(plan: Plan, quota: number): void {
  Object.assign(plan.policies[0] ?? {}, { quota });
}

/** Makes windows and bans longer. */
function slower(plan: Plan, scale: number): Plan {
  const { name, policies, ban } = plan;
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
  const random = fc.sample(fc.infiniteStream(fc.nat()), { seed: SEED, numRuns: 1 })[0] ?? assert.fail();
  const below = (end: number) => random.next().value % end;
  t.diagnostic(`SEED=${SEED}`);
  const verdicts = { within_quota: 0, over_quota: 0, banned: 0 };
  let operations = 0;

  for (let history = 0; operations < OPERATIONS; history++) {
    const scale = [1, 1, 250][history % 3] ?? 1;
    const anyPlans = history % 2 === 0 ? plansToPack : fc.tuple(keyPlan, keyPlan, keyPlan);
    const [plans = assert.fail()] = fc.sample(anyPlans, { seed: SEED + history, numRuns: 1 });
    const clock = createManualClock(1_000_000_007);
    const packed = createMemoryLimiter({ clock });
    const byRule = createMemoryLimiter({ clock });
    const redis = createRedisLimiter({ send, clock, prefix: `${history}:`, deadlineMs: 10_000, refusalCacheMs: 0 });
    const changing = structuredClone(slower(plans[0], scale));
    const choices = [...plans.map((plan) => slower(plan, scale)), changing];
    const forget = () => byRule.restore('key', { buckets: [UNPACKABLE] });
    let retryAfterMs = 0;
    let plan = choices[0] ?? assert.fail();
    forget();

    const request = async (method: 'take' | 'peek', cost: number) => {
      const most = Math.min(cost, ...plan.policies.map(({ quota }) => quota));
      const mine = packed[method]('key', plan, most);
      const others = [byRule[method]('key', plan, most), await redis[method]('key', plan, most)];
      const reply = await replyTo(mine);
      for (const other of others) {
        assert.deepEqual(plainDecision(other), plainDecision(mine));
        assert.deepEqual(await replyTo(other), reply);
      }
      verdicts[mine.verdict]++;
      retryAfterMs = mine.retryAfterMs;
    };

    for (let n = 0; n < PER_HISTORY; n++, operations++) {
      const dice = below(100);
      if (dice < 50) await request('take', below(5) === 0 ? below(7) : 1);
      else if (dice < 56) await request('peek', below(3));
      else if (dice < 72) clock.advance((below(4) === 0 ? below(40) : below(4)) * scale);
      else if (dice < 74) clock.advance(-below(60) * scale);
      else if (dice < 80) clock.advance(Math.max(0, retryAfterMs - below(2)));
      else if (dice < 88) plan = choices[below(choices.length)] ?? plan;
      else if (dice < 93) mutate(changing, 1 + below(6));
      else if (dice < 95) {
        const ms = 1 + below(30) * scale;
        packed.ban('key', ms);
        byRule.ban('key', ms);
        await redis.ban('key', ms);
      } else if (dice < 97) {
        for (const limiter of [packed, byRule, redis]) await limiter.unban('key');
      } else if (dice < 98) {
        for (const limiter of [packed, redis]) await limiter.reset('key');
        forget();
      } else {
        const state = sorted(packed.inspect('key'));
        assert.deepEqual(sorted(without(byRule.inspect('key') ?? assert.fail())), state);
        assert.deepEqual(sorted(await redis.inspect('key')), state);
      }
    }
  }
  t.diagnostic(`${operations} operations, ${JSON.stringify(verdicts)}`);
  for (const count of Object.values(verdicts)) assert.ok(count > operations / 20);
});
