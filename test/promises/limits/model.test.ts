import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Clock, createPlan, type MemoryLimiter, type Plan } from 'store-orders/limiter';
import { createRedisLimiter, type RedisLimiter } from 'store-orders/redis';
import { plainDecision } from '../../../dist/limits/limiter.js';
import { createStatefulLimiter } from '../../../dist/limits/memory/limiter.js';
import { useRedis } from '../../limits/redis/support/redis.js';
import { skip } from '../../support/redis-server.js';
import { sampledRuns } from '../../support/sampled.js';
import { addressPlan, anyMs, forwardMs, keyPlan, plansToPack } from './support/arbitraries.js';
import { createModel, type Model } from './support/model.js';

/** The number of operations over Redis. For a long run, set the environment variable `OPERATIONS`. */
const OPERATIONS = Number(process.env['OPERATIONS'] ?? 12_000);

type Limiter = Pick<MemoryLimiter | RedisLimiter, keyof Model> & { readonly restart?: (key: string) => void };

const KEYS = ['first', 'second', 'third', 'fourth', 'fifth'];

const redisClient = useRedis();
let opened = 0;

function openInMemory(clock: Clock): Limiter {
  const limiter = createStatefulLimiter({ clock });
  const restart = (key: string) => {
    const state = limiter.inspect(key);
    limiter.reset(key);
    if (state !== undefined) limiter.restore(key, JSON.parse(JSON.stringify(state)));
  };
  return { ...limiter, restart };
}

function openInRedis(clock: Clock): Limiter {
  return createRedisLimiter({
    send: (command) => redisClient().call(...command),
    clock,
    prefix: `${opened++}:`,
    onBackendError: 'closed',
    deadlineMs: 10_000,
    refusalCacheMs: 0,
  });
}

const anyAction = fc.oneof(
  { weight: 72, arbitrary: fc.constant('take') },
  { weight: 12, arbitrary: fc.constant('peek') },
  { weight: 24, arbitrary: fc.constant('advance') },
  { weight: 9, arbitrary: fc.constant('wait') },
  { weight: 3, arbitrary: fc.constant('setWallClock') },
  { weight: 3, arbitrary: fc.constant('changePlan') },
  { weight: 4, arbitrary: fc.constant('ban') },
  { weight: 3, arbitrary: fc.constantFrom('unban', 'reset', 'restart') },
);

const ANY_PLAN = fc.nat({ max: 3 });
const MOSTLY_ONE_PLAN = fc.oneof({ weight: 8, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: ANY_PLAN });

function commands(keys: number, ms: fc.Arbitrary<number>, plan = ANY_PLAN) {
  const command = fc.record({
    action: anyAction,
    key: fc.nat({ max: keys - 1 }),
    plan,
    // The cost of a request. With `isFromMost`, how far it is below the largest possible cost.
    cost: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat({ max: 6 }) }),
    isFromMost: fc.nat({ max: 6 }).map((number) => number === 6),
    ms,
  });
  return fc.array(command, { maxLength: 400, size: 'max' });
}

type Command = ReturnType<ReturnType<typeof commands>['generate']>['value'][number];

const counts = { within_quota: 0, over_quota: 0, banned: 0 };

/** Runs all commands on the model and on a limiter, and compares every decision. */
async function play(open: (clock: Clock) => Limiter, plans: readonly Plan[], script: readonly Command[]) {
  const now = { nowMs: 1_000_000_007, utcOffsetMs: 0 };
  const clock: Clock = { nowMs: () => now.nowMs, utcOffsetMs: () => now.utcOffsetMs };
  const limiter = open(clock);
  const model = createModel(clock);
  // A plan that is not frozen, so that it can change in place.
  const changing = structuredClone(plans[0]);
  let retryAfterMs = 0;

  async function request(method: 'take' | 'peek', { key, plan: number, cost, isFromMost }: Command): Promise<void> {
    const plan = plans[number] ?? changing ?? assert.fail();
    const most = Math.min(...plan.policies.map(({ quota }) => quota));
    const call = [KEYS[key] ?? '', plan, isFromMost ? Math.max(0, most - cost) : Math.min(most, cost)] as const;
    const expected = model[method](call[0], plan === changing ? structuredClone(plan) : plan, call[2]);
    assert.deepEqual(plainDecision(await limiter[method](...call)), expected);
    ({ retryAfterMs } = expected);
    counts[expected.result]++;
  }

  for (const command of script) {
    const { action, ms } = command;
    const key = KEYS[command.key] ?? '';
    if (action === 'take' || action === 'peek') await request(action, command);
    else if (action === 'wait') now.nowMs += Math.max(0, retryAfterMs - (command.cost % 2));
    else if (action === 'advance') now.nowMs += ms;
    else if (action === 'setWallClock') now.utcOffsetMs = 15 - (Math.abs(ms) % 31);
    else if (action === 'changePlan') Object.assign(changing?.policies[0] ?? {}, { quota: command.cost + 1 });
    else if (action === 'restart') limiter.restart?.(key);
    else for (const one of [model, limiter]) await one[action](key, 1 + Math.abs(ms % 30));
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

/**
 * Edges of strikes and bans that random histories seldom reach. Each row has the length of a window,
 * which is also its quota, and what one key does: `T` takes all tokens, `N` takes none, `B` is a ban
 * of a millisecond, and a number advances the clock.
 */
const EDGES = [
  [4, 'T T 1 T T 1 T 1 T 1 T T 1 T 1 T 1 T'],
  [4, 'T '.repeat(26)],
  [30, 'T '.repeat(36)],
  [30, `T T 1 T T 1 T T T T T T 28 T ${'T '.repeat(34)}`],
  [30, 'T T 1 T 9 T 1 T'],
  [30, 'T T 10 T -2 N 9 T T'],
  [30, 'T 5 T -4 T 1 T 1 T'],
  [30, 'T T 1 T B 2 T 1 T'],
  [30, 'T T 1 T T 1 T 1 T T 2 T 1 T T 3 T'],
  [30, 'T T 1 T T 59 T T 1 T T 1 T'],
  [30, 'T T 1 T T 60 T T 1 T T 1 T'],
  [30, 'T T 1 T T -40 N 64 T T 1 T T 1 T'],
] as const;

function commandOf(word: string): Command {
  const command = { action: 'take', key: 0, plan: 0, cost: 0, isFromMost: word === 'T', ms: 0 } as const;
  if (word === 'B') return { ...command, action: 'ban' };
  return word === 'T' || word === 'N' ? command : { ...command, action: 'advance', ms: Number(word) };
}

for (const [where, open, runs, isSkipped] of [
  ['in memory', openInMemory, sampledRuns(600), false],
  ['in Redis', openInRedis, OPERATIONS / 600, skip],
] as const) {
  const name = `the limiter ${where} makes the same decisions as the model`;
  test(`${name}: edges of strikes and bans`, { skip: isSkipped }, async () => {
    const ban = { after: 2, withinMs: 9, graceMs: 0, baseMs: 1, factor: 2, maxMs: 3, forgetMs: 60 };
    for (const [windowMs, words] of EDGES) {
      const plan = createPlan({ name: 'edge', policies: [{ name: 'a', quota: windowMs, windowMs }], ban });
      await play(open, [plan], words.trim().split(' ').map(commandOf));
    }
  });

  for (const [what, { plans, script }] of Object.entries(HISTORIES)) {
    test(`${name}: ${what}`, { skip: isSkipped }, async (t) => {
      Object.assign(counts, { within_quota: 0, over_quota: 0, banned: 0 });
      const property = fc.asyncProperty(plans, script, (made, history) => play(open, made, history));
      await fc.assert(property, { numRuns: Math.ceil(runs) });
      t.diagnostic(JSON.stringify(counts));
      for (const count of Object.values(counts)) assert.ok(count > runs);
    });
  }
}
