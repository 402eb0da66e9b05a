import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import type { Clock, Decision, KeyState, Plan } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { forwardMs, keyPlan } from '../support/arbitraries.js';
import { plainDecision } from '../support/plain-decision.js';
import { cuttable } from './support/cut.js';
import { createOutageModel } from './support/outage-model.js';
import { ROUNDS } from './support/rounds.js';
import { connect, type Server, skip, startServer } from './support/server.js';

type Command =
  | { readonly do: 'take' | 'peek'; readonly key: string; readonly plan: number; readonly cost: number }
  | { readonly do: 'flood'; readonly key: string; readonly plan: number; readonly times: number; readonly ms: number }
  | { readonly do: 'refund'; readonly back: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'change'; readonly plan: number; readonly quota: number }
  | { readonly do: 'ban'; readonly key: string; readonly ms: number }
  | { readonly do: 'unban' | 'reset' | 'inspect'; readonly key: string }
  | { readonly do: 'cut' | 'join' };

const key = fc.constantFrom('one', 'other');
const plan = fc.nat({ max: 2 });
const cost = fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat({ max: 4 }) });
const of = <const T extends string>(name: T) => fc.constant(name);
const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(
    { weight: 24, arbitrary: fc.record({ do: of('take'), key, plan, cost }) },
    { weight: 3, arbitrary: fc.record({ do: of('peek'), key, plan, cost }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: of('flood'),
        key,
        plan,
        times: fc.nat({ max: 12 }),
        ms: fc.constantFrom(0, 0, 1, 2),
      }),
    },
    { weight: 10, arbitrary: fc.record({ do: of('advance'), ms: forwardMs }) },
    { weight: 4, arbitrary: fc.record({ do: of('refund'), back: fc.nat({ max: 8 }) }) },
    { weight: 2, arbitrary: fc.record({ do: of('change'), plan, quota: fc.integer({ min: 1, max: 6 }) }) },
    { weight: 1, arbitrary: fc.record({ do: of('ban'), key, ms: fc.integer({ min: 1, max: 30 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('unban', 'reset'), key }) },
    { weight: 2, arbitrary: fc.record({ do: of('inspect'), key }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('cut', 'join') }) },
  ),
  { maxLength: 300, size: 'max' },
);

let server: Server | undefined;
let client: ReturnType<typeof connect>;
let runs = 0;

before(async () => {
  if (skip) return;
  server = await startServer();
  client = connect(server.port);
});

after(async () => {
  client?.disconnect();
  await server?.stop();
});

/**
 * Copies a plan into plain objects. A test changes the copy in place, as an embedding program may
 * do with its plans.
 */
function loose(plan: Plan) {
  return { ...plan, policies: plan.policies.map((policy) => ({ ...policy })), ban: plan.ban && { ...plan.ban } };
}

async function play(made: readonly Plan[], script: readonly Command[]): Promise<number> {
  const now = { nowMs: 1_000_000_007 };
  const clock: Clock = { nowMs: () => now.nowMs, utcOffsetMs: () => 0 };
  const cut = cuttable((command) => client.call(...command));
  const limiter = createRedisLimiter({ send: cut.send, clock, prefix: `${runs++}:`, deadlineMs: 10_000 });
  const model = createOutageModel(clock);
  const plans = made.map(loose);
  const taken: { mine: Decision; theirs: Decision }[] = [];
  let operations = 0;

  async function request(method: 'take' | 'peek', key: string, number: number, cost: number) {
    const plan = plans[number] ?? assert.fail();
    const most = Math.min(...plan.policies.map((policy) => policy.quota), cost);
    const mine = model[method](key, structuredClone(plan), most);
    const theirs = await limiter[method](key, plan, most);
    assert.deepEqual(plainDecision(theirs), plainDecision(mine));
    if (method === 'take') taken.push({ mine, theirs });
    operations++;
  }

  /**
   * Checks that the promise of an operation resolves if `isDone`, and that it rejects otherwise.
   */
  async function settles(asked: Promise<void>, isDone: boolean) {
    if (isDone) await asked;
    else await assert.rejects(asked);
  }

  async function toggle(isCut: boolean) {
    if (isCut === cut.isCut) return;
    if (isCut) {
      model.cut();
      cut.isCut = true;
      // This request makes the limiter notice the failure. Its key is not compared with the model.
      await limiter.take('somebody', plans[0] ?? assert.fail());
      assert.equal(limiter.mode, 'local');
    } else {
      model.join();
      await cut.join(limiter);
    }
  }

  async function run(command: Command): Promise<void> {
    if (!['take', 'peek', 'flood'].includes(command.do)) operations++;
    switch (command.do) {
      case 'take':
      case 'peek':
        return request(command.do, command.key, command.plan, command.cost);
      case 'flood':
        for (let n = 0; n < command.times; n++) {
          now.nowMs += command.ms;
          await request('take', command.key, command.plan, 1);
        }
        return;
      case 'refund': {
        const [refunded] = taken.splice(-1 - command.back, 1);
        if (refunded !== undefined) await settles(limiter.refund(refunded.theirs), model.refund(refunded.mine));
        return;
      }
      case 'advance':
        now.nowMs += command.ms;
        return;
      case 'change': {
        const policy = plans[command.plan]?.policies[0] ?? assert.fail();
        if (policy.quota <= 6) policy.quota = command.quota;
        return;
      }
      case 'ban':
        model.ban(command.key, command.ms);
        return settles(limiter.ban(command.key, command.ms), !cut.isCut);
      case 'unban':
      case 'reset':
        model[command.do](command.key);
        return settles(limiter[command.do](command.key), !cut.isCut);
      case 'inspect':
        if (!cut.isCut)
          assert.deepEqual(open(await limiter.inspect(command.key)), open(model.server.inspect(command.key)));
        return;
      default:
        return toggle(command.do === 'cut');
    }
  }

  /**
   * Returns the unexpired windows of a state. The limiter and the model may keep expired windows
   * for a while.
   */
  function open(state: KeyState | undefined): KeyState['buckets'] {
    const text = (bucket: object) => JSON.stringify(bucket);
    return (state?.buckets ?? [])
      .filter(({ atMs, refill, windowMs }) => atMs + (refill === 'continuous' ? windowMs : 0) > now.nowMs)
      .toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
  }

  try {
    for (const command of script) await run(command);
    await toggle(false);
    for (const name of ['one', 'other']) {
      await run({ do: 'inspect', key: name });
      for (const number of [0, 1, 2]) await request('peek', name, number, 0);
    }
  } finally {
    cut.stop();
  }
  return operations;
}

const OPERATIONS = ROUNDS * 200;

test('the Redis limiter makes the same decisions as the model, despite outages, bans and changes of plans', {
  skip,
}, async (t) => {
  let operations = 0;
  const property = fc.asyncProperty(fc.tuple(keyPlan, keyPlan, keyPlan), commands, async (plans, script) => {
    if (operations < OPERATIONS) operations += await play(plans, script);
  });
  await fc.assert(property, { numRuns: OPERATIONS });
  t.diagnostic(`${operations} operations`);
  assert.ok(operations >= OPERATIONS, `only ${operations} operations`);
});
