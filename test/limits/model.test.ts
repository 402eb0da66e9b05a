import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Clock, Decision, Plan } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { plainDecision } from '../../dist/limits/limiter.js';
import { createStatefulLimiter } from '../../dist/limits/memory/limiter.js';
import { skip } from '../support/redis-server.js';
import { sampledRuns } from '../support/sampled.js';
import { useRedis } from './redis/support/redis.js';
import { addressPlan, anyMs, forwardMs, keyPlan, plansToPack, weighted } from './support/arbitraries.js';
import { createModel, type Model } from './support/model.js';

// Every limiter gets the same calls at the same instants as the model, and must make the same
// decisions.

/** The number of operations over Redis. For a long run, set the environment variable `OPERATIONS`. */
const OPERATIONS = Number(process.env['OPERATIONS'] ?? 12_000);

type Limiter = {
  readonly [Method in keyof Model]: (...call: Parameters<Model[Method]>) => unknown;
} & { readonly restart?: (key: string) => void };

const KEYS = ['first', 'second', 'third', 'fourth', 'fifth'];

const redisClient = useRedis();
let opened = 0;

const LIMITERS = {
  packed(clock: Clock) {
    const limiter = createStatefulLimiter({ clock });
    const restart = (key: string) => {
      const state = limiter.inspect(key);
      limiter.reset(key);
      if (state !== undefined) limiter.restore(key, JSON.parse(JSON.stringify(state)));
    };
    return { ...limiter, restart };
  },

  /**
   * Every state has a bucket that belongs to no plan, so that it cannot be packed, and `decide`
   * (src/limits/rule.ts) makes every decision.
   */
  byRule(clock: Clock) {
    const limiter = createStatefulLimiter({ clock });
    const bucket = { name: 'other', windowMs: 10 ** 14, refill: 'continuous', taken: 1, atMs: 1 } as const;
    const reset = (key: string) => limiter.restore(key, { buckets: [bucket] });
    KEYS.forEach(reset);
    return { ...limiter, reset };
  },

  redis: (clock: Clock) =>
    createRedisLimiter({
      send: (command) => redisClient().call(...command),
      clock,
      prefix: `${opened++}:`,
      onBackendError: 'closed',
      deadlineMs: 10_000,
      refusalCacheMs: 0,
    }),
} satisfies Readonly<Record<string, (clock: Clock) => Limiter>>;

const ACTIONS = {
  take: 72,
  peek: 12,
  advance: 24,
  wait: 9,
  setWallClock: 3,
  changePlan: 3,
  ban: 4,
  unban: 1,
  reset: 1,
  restart: 1,
};

interface Command {
  readonly action: keyof typeof ACTIONS;
  readonly key: number;
  readonly plan: number;
  /** The cost of a request, or what it lacks to the largest cost that the plan can grant. */
  readonly cost: number;
  readonly isFromMost: boolean;
  readonly ms: number;
}

const ANY_PLAN = fc.nat({ max: 3 });
const MOSTLY_ONE_PLAN = fc.oneof({ weight: 8, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: ANY_PLAN });

function commands(keys: number, ms: fc.Arbitrary<number>, plan = ANY_PLAN): fc.Arbitrary<Command[]> {
  const command = fc.record({
    action: weighted(ACTIONS),
    key: fc.nat({ max: keys - 1 }),
    plan,
    cost: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat({ max: 6 }) }),
    isFromMost: fc.nat({ max: 6 }).map((number) => number === 6),
    ms,
  });
  return fc.array(command, { maxLength: 400, size: 'max' });
}

const counts = { within_quota: 0, over_quota: 0, banned: 0 };

/** Runs all commands on the model and on the limiters, and compares every decision. */
async function play(names: readonly (keyof typeof LIMITERS)[], plans: readonly Plan[], script: readonly Command[]) {
  const now = { nowMs: 1_000_000_007, utcOffsetMs: 0 };
  const clock: Clock = { nowMs: () => now.nowMs, utcOffsetMs: () => now.utcOffsetMs };
  const limiters: readonly Limiter[] = names.map((name) => LIMITERS[name](clock));
  const model = createModel(clock);
  // A plan that is not frozen, so that it can change in place.
  const changing = structuredClone(plans[0]);
  let retryAfterMs = 0;

  async function request(method: 'take' | 'peek', { key, plan: number, cost, isFromMost }: Command): Promise<void> {
    const plan = plans[number] ?? changing ?? assert.fail();
    const most = Math.min(...plan.policies.map(({ quota }) => quota));
    const call = [KEYS[key] ?? '', plan, isFromMost ? Math.max(0, most - cost) : Math.min(most, cost)] as const;
    const expected = model[method](call[0], plan === changing ? structuredClone(plan) : plan, call[2]);
    for (const limiter of limiters) {
      const decision = (await limiter[method](...call)) as Decision;
      assert.deepEqual(plainDecision(decision), expected);
    }
    ({ retryAfterMs } = expected);
    counts[expected.verdict]++;
  }

  for (const command of script) {
    const { action, ms } = command;
    const key = KEYS[command.key] ?? '';
    if (action === 'take' || action === 'peek') await request(action, command);
    else if (action === 'wait') now.nowMs += Math.max(0, retryAfterMs - (command.cost % 2));
    else if (action === 'advance') now.nowMs += ms;
    else if (action === 'setWallClock') now.utcOffsetMs = 15 - (Math.abs(ms) % 31);
    else if (action === 'changePlan') Object.assign(changing?.policies[0] ?? {}, { quota: command.cost + 1 });
    else if (action === 'restart') for (const { restart } of limiters) restart?.(key);
    else for (const limiter of [model, ...limiters]) await limiter[action](key, 1 + Math.abs(ms % 30));
  }
}

// With several keys, a request of one key can remove the expired state of another key. If the clock
// then stepped back, the model would still count this state, but the limiter would not. So a clock
// steps back only in histories of one key and one address.
const HISTORIES = {
  'one key and one address, even if the clock steps back': {
    plans: fc.tuple(keyPlan, keyPlan, addressPlan),
    script: commands(1, anyMs),
  },
  'several keys, although the limiter removes expired state': {
    plans: fc.tuple(keyPlan, keyPlan, keyPlan),
    script: commands(KEYS.length, forwardMs),
  },
  'plans of one or two interval windows, also after bans and restarts': {
    plans: plansToPack,
    script: fc.oneof(commands(1, anyMs, MOSTLY_ONE_PLAN), commands(KEYS.length, forwardMs, MOSTLY_ONE_PLAN)),
  },
};

for (const [what, { plans, script }] of Object.entries(HISTORIES)) {
  for (const [where, names, runs, isSkipped] of [
    ['in memory, with packed state and by the rule,', ['packed', 'byRule'], sampledRuns(600), false],
    ['in Redis', ['redis'], OPERATIONS / 600, skip],
  ] as const) {
    test(`the limiter ${where} makes the same decisions as the model: ${what}`, { skip: isSkipped }, async (t) => {
      Object.assign(counts, { within_quota: 0, over_quota: 0, banned: 0 });
      const property = fc.asyncProperty(plans, script, (made, history) => play(names, made, history));
      await fc.assert(property, { numRuns: Math.ceil(runs) });
      t.diagnostic(JSON.stringify(counts));
      for (const count of Object.values(counts)) assert.ok(count > runs);
    });
  }
}
