import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Clock, Decision, Plan } from 'store-orders/limiter';
import { createStatefulLimiter } from '../../dist/limits/memory/limiter.js';
import { sampledRuns } from '../support/sampled.js';
import { addressPlan, anyMs, forwardMs, keyPlan, plansToPack } from './support/arbitraries.js';
import { type Answer, type AnsweredWindow, createModel } from './support/model.js';

type Command =
  | {
      readonly do: 'take' | 'peek';
      readonly key: number;
      readonly plan: number;
      readonly cost: number;
      readonly of: Share;
    }
  | { readonly do: 'wait'; readonly shortMs: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'wallClock'; readonly offsetMs: number }
  | { readonly do: 'ban'; readonly key: number; readonly ms: number }
  | { readonly do: 'unban' | 'reset' | 'restore'; readonly key: number };

/**
 * How a random number becomes the cost of a request. `little` uses the number itself. `most`
 * subtracts it from the largest cost that the plan can grant.
 */
type Share = 'little' | 'most';

const KEYS = ['first', 'second', 'third', 'fourth', 'fifth'];

const ANY_PLAN = fc.nat({ max: 2 });
const MOSTLY_ONE_PLAN = fc.oneof({ weight: 8, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: ANY_PLAN });

function commands(keys: number, ms: fc.Arbitrary<number>, plan = ANY_PLAN): fc.Arbitrary<Command[]> {
  const key = fc.nat({ max: keys - 1 });
  const request = {
    key,
    plan,
    cost: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat({ max: 6 }) }),
    of: fc.oneof(
      { weight: 6, arbitrary: fc.constant('little' as const) },
      { weight: 1, arbitrary: fc.constant('most' as const) },
    ),
  };
  const command: fc.Arbitrary<Command> = fc.oneof(
    { weight: 24, arbitrary: fc.record({ do: fc.constant('take' as const), ...request }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('peek' as const), ...request }) },
    { weight: 12, arbitrary: fc.record({ do: fc.constant('advance' as const), ms }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), shortMs: fc.nat({ max: 1 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('wallClock' as const), offsetMs: fc.integer({ min: -30, max: 30 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('ban' as const), key, ms: fc.integer({ min: 1, max: 30 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('unban', 'reset', 'restore'), key }) },
  );
  return fc.array(command, { maxLength: 400, size: 'max' });
}

/**
 * Runs all commands on the limiter and on the model, and compares every result. Returns the number
 * of commands.
 */
function play(plans: readonly Plan[], script: readonly Command[]): number {
  const now = { nowMs: 1_000_000_007, utcOffsetMs: 0 };
  const clock: Clock = { nowMs: () => now.nowMs, utcOffsetMs: () => now.utcOffsetMs };
  const limiter = createStatefulLimiter({ clock });
  const model = createModel();
  let retryAfterMs = 0;

  for (const command of script) {
    const key = KEYS['key' in command ? command.key : 0] ?? '';
    switch (command.do) {
      case 'take':
      case 'peek': {
        const plan = plans[command.plan];
        assert.ok(plan);
        const most = Math.min(...plan.policies.map((policy) => policy.quota));
        const cost = command.of === 'most' ? Math.max(0, most - command.cost) : Math.min(most, command.cost);
        const decision = limiter[command.do](key, plan, cost);
        const answer = model[command.do](key, plan, cost, { ...now });
        assert.deepEqual(announced(decision), answer);
        retryAfterMs = decision.retryAfterMs;
        break;
      }
      case 'wait':
        now.nowMs += Math.max(0, retryAfterMs - command.shortMs);
        break;
      case 'advance':
        now.nowMs += command.ms;
        break;
      case 'wallClock':
        now.utcOffsetMs = command.offsetMs;
        break;
      case 'ban':
        limiter.ban(key, command.ms);
        model.ban(key, command.ms, now.nowMs);
        break;
      case 'restore': {
        const state = limiter.inspect(key);
        limiter.reset(key);
        if (state !== undefined) limiter.restore(key, JSON.parse(JSON.stringify(state)));
        break;
      }
      default:
        limiter[command.do](key);
        model[command.do](key);
    }
  }
  return script.length;
}

function announced(decision: Decision): Answer {
  const { key, plan, cost, allowed, verdict, retryAfterMs, windows, inForce } = decision;
  assert.equal(
    windows.includes(inForce),
    verdict !== 'banned',
    'inForce is one of the windows, unless the key is banned',
  );
  return {
    key,
    plan,
    cost,
    allowed,
    verdict,
    retryAfterMs,
    windows: windows.map(windowOf),
    inForce: windowOf(inForce),
  };
}

function windowOf({ policy, remaining, resetAtMs, refillAtMs }: Decision['inForce']): AnsweredWindow {
  return { name: policy.name, remaining, resetAtMs, refillAtMs };
}

// With several keys, a request of one key can remove the expired state of another key. If the clock
// then stepped back, the model would still count this state, but the limiter would not. So a clock
// steps back only in histories of one key and one address.
for (const { what, plans, script, runs } of [
  {
    what: 'one key and one address, even if the clock steps back',
    plans: fc.tuple(keyPlan, keyPlan, addressPlan),
    script: commands(1, anyMs),
    runs: 1_000,
  },
  {
    what: 'several keys, although the limiter removes expired state',
    plans: fc.tuple(keyPlan, keyPlan, keyPlan),
    script: commands(KEYS.length, forwardMs),
    runs: 500,
  },
  {
    what: 'plans of one or two interval windows, also after bans and restarts',
    plans: plansToPack,
    script: fc.oneof(commands(1, anyMs, MOSTLY_ONE_PLAN), commands(KEYS.length, forwardMs, MOSTLY_ONE_PLAN)),
    runs: 1_000,
  },
]) {
  test(`the limiter makes the same decisions as the model: ${what}`, () => {
    let done = 0;
    const property = fc.property(plans, script, (made, history) => {
      done += play(made, history);
    });
    fc.assert(property, { numRuns: sampledRuns(runs) });
    assert.ok(done > sampledRuns(120 * runs), `only ${done} commands`);
  });
}
