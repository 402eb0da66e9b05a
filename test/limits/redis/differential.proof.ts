import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { type Clock, createMemoryLimiter, type KeyState, type Plan } from 'store-orders/limiter';
import { createRedisLimiter, type SendCommand } from 'store-orders/redis';
import { connectRedis, type RedisServer, skip, startRedis } from '../../support/redis-server.js';
import { anyMs, forwardMs, keyPlan } from '../support/arbitraries.js';
import { plainDecision } from '../support/plain-decision.js';
import { ROUNDS } from './support/rounds.js';

type Command =
  | { readonly do: 'take' | 'peek'; readonly key: number; readonly plan: number; readonly cost: number }
  | { readonly do: 'flood'; readonly key: number; readonly plan: number; readonly times: number; readonly ms: number }
  | { readonly do: 'wait'; readonly shortMs: number }
  | { readonly do: 'advance' | 'wallClock'; readonly ms: number }
  | { readonly do: 'change'; readonly plan: number; readonly quota: number }
  | { readonly do: 'ban'; readonly key: number; readonly ms: number }
  | { readonly do: 'unban' | 'reset' | 'inspect'; readonly key: number };

function commands(keys: number, ms: fc.Arbitrary<number>): fc.Arbitrary<Command[]> {
  const key = fc.nat({ max: keys - 1 }).map(Math.floor);
  const plan = fc.nat({ max: 2 });
  const cost = fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat({ max: 6 }) });
  const short = fc.integer({ min: -30, max: 30 });
  return fc.array(
    fc.oneof(
      { weight: 24, arbitrary: fc.record({ do: fc.constant('take' as const), key, plan, cost }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('peek' as const), key, plan, cost }) },
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('flood' as const),
          key,
          plan,
          times: fc.oneof({ weight: 4, arbitrary: fc.nat({ max: 12 }) }, { weight: 1, arbitrary: fc.nat({ max: 60 }) }),
          ms: fc.constantFrom(0, 0, 1, 2),
        }),
      },
      { weight: 12, arbitrary: fc.record({ do: fc.constant('advance' as const), ms }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), shortMs: fc.nat({ max: 1 }) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('wallClock' as const), ms: short }) },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant('change' as const), plan, quota: fc.integer({ min: 1, max: 6 }) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant('ban' as const), key, ms: fc.integer({ min: 1, max: 30 }) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('unban', 'reset'), key }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('inspect' as const), key }) },
    ),
    { maxLength: 400, size: 'max' },
  );
}

let server: RedisServer | undefined;
let stopClient = () => {};
let send: SendCommand;
let runs = 0;

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
 * Runs all commands on both limiters and compares each result. Returns the number of requests and
 * other operations.
 */
async function play(made: readonly Plan[], script: readonly Command[]): Promise<number> {
  const plans = made.map(loosePlan);
  const now = { nowMs: 1_000_000_007, utcOffsetMs: 0 };
  const clock: Clock = { nowMs: () => now.nowMs, utcOffsetMs: () => now.utcOffsetMs };
  const memory = createMemoryLimiter({ clock });
  const redis = createRedisLimiter({ send, clock, prefix: `${runs++}:`, deadlineMs: 10_000, refusalCacheMs: 0 });
  let retryAfterMs = 0;
  let operations = 0;

  async function request(method: 'take' | 'peek', key: string, plan: Plan | undefined, cost: number) {
    assert.ok(plan);
    const most = Math.min(...plan.policies.map((policy) => policy.quota), cost);
    // The memory limiter gets a copy of the plan. The Redis limiter gets the plan itself, and must
    // use it as it was at the request, even if the plan changes later.
    const mine = plainDecision(memory[method](key, structuredClone(plan), most));
    const theirs = await redis[method](key, plan, most);
    assert.deepEqual(plainDecision(theirs), mine);
    retryAfterMs = mine.retryAfterMs;
    operations++;
  }

  for (const command of script) {
    if (!['take', 'peek', 'flood'].includes(command.do)) operations++;
    const key = `key ${'key' in command ? command.key : 0}`;
    switch (command.do) {
      case 'take':
      case 'peek':
        await request(command.do, key, plans[command.plan], command.cost);
        break;
      case 'flood':
        for (let n = 0; n < command.times; n++) {
          now.nowMs += command.ms;
          await request('take', key, plans[command.plan], 1);
        }
        break;
      case 'wait':
        now.nowMs += Math.max(0, retryAfterMs - command.shortMs);
        break;
      case 'advance':
        now.nowMs += command.ms;
        break;
      case 'wallClock':
        now.utcOffsetMs = command.ms;
        break;
      case 'change': {
        const [policy] = plans[command.plan]?.policies ?? [];
        if (policy !== undefined && policy.quota <= 6) policy.quota = command.quota;
        break;
      }
      case 'ban':
        memory.ban(key, command.ms);
        await redis.ban(key, command.ms);
        break;
      case 'inspect':
        // The memory limiter drops expired state of a key during requests of other keys. States are
        // therefore compared only if all commands are about one key.
        if (script.every((other) => !('key' in other) || other.key === 0)) {
          assert.deepEqual(sorted(await redis.inspect(key)), sorted(memory.inspect(key)));
        }
        break;
      default:
        memory[command.do](key);
        await redis[command.do](key);
    }
  }
  return operations;
}

function sorted(state: KeyState | undefined): KeyState | undefined {
  const text = (bucket: object) => JSON.stringify(bucket);
  return state && { ...state, buckets: state.buckets.toSorted((a, b) => (text(a) < text(b) ? -1 : 1)) };
}

/**
 * Copies a plan so that it can be changed in place, as an embedding program may do with its own
 * plans.
 */
function loosePlan(plan: Plan) {
  return { ...plan, policies: plan.policies.map((policy) => ({ ...policy })) };
}

const OPERATIONS = ROUNDS * 200;

for (const { what, keys, ms } of [
  { what: 'one key, with a clock that steps forwards and backwards', keys: 1, ms: anyMs },
  { what: 'several keys', keys: 3, ms: forwardMs },
]) {
  test(`the Redis limiter makes the same decisions as the memory limiter: ${what}`, { skip }, async (t) => {
    let operations = 0;
    const plans = fc.tuple(keyPlan, keyPlan, keyPlan);
    const property = fc.asyncProperty(plans, commands(keys, ms), async (made, script) => {
      if (operations < OPERATIONS) operations += await play(made, script);
    });
    await fc.assert(property, { numRuns: OPERATIONS });
    t.diagnostic(`${operations} operations`);
    assert.ok(operations >= OPERATIONS, `only ${operations} operations`);
  });
}
