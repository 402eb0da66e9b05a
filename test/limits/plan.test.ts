import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, createPlan, PLANS, perDay, perMinute } from 'store-orders/limiter';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Asserts that `act` throws an error whose class and message begin like this. */
function assertThrows(act: () => unknown, says: string, what = says): void {
  assert.throws(act, (error) => String(error).startsWith(says), what);
}

test('PLANS has the plans of part 8 of the specification, and all have the default rule for bans', () => {
  const window = { refill: 'interval', align: 'first' };
  const ban = {
    after: 20,
    withinMs: MINUTE_MS,
    graceMs: 2_000,
    baseMs: MINUTE_MS,
    factor: 4,
    maxMs: 3_600_000,
    forgetMs: DAY_MS,
  };
  const plan = (name: string, quotaPerMinute: number, quotaPerDay: number) => ({
    name,
    policies: [
      { name: 'minute', quota: quotaPerMinute, windowMs: MINUTE_MS, ...window },
      { name: 'day', quota: quotaPerDay, windowMs: DAY_MS, ...window },
    ],
    ban,
    partition: 'key',
  });
  assert.deepEqual(PLANS, {
    free: plan('free', 60, 1_000),
    pro: plan('pro', 300, 10_000),
    business: plan('business', 1_000, 100_000),
  });
});

test('each field of the ban policy that is left out or undefined has its default, and addresses are not banned', () => {
  const banOf = (options: object) => Reflect.apply(createPlan, undefined, [{ ...valid, ...options }]).ban;
  assert.deepEqual(banOf({ ban: { after: 50, graceMs: undefined } }), { ...PLANS.free.ban, after: 50 });
  assert.deepEqual(banOf({}), PLANS.free.ban);
  assert.equal(banOf({ ban: false }), false);
  assert.equal(banOf({ partition: 'address' }), false);
});

test('a request with an invalid or incomplete plan throws a TypeError and takes no tokens', () => {
  const limiter = createMemoryLimiter();
  const day = { ...PLANS.free.policies[1] };
  const free = { ...PLANS.free, name: 'p' };
  const rows: readonly (readonly [string, unknown])[] = [
    ['plan', undefined],
    ['plan', null],
    ['plan', 'free'],
    ['plan p: policies', { name: 'p' }],
    ['plan p: ban: missing', { name: 'p', policies: [day] }],
    ['plan p: policies[0].refill: missing', { ...free, policies: [{ ...day, refill: undefined }] }],
    ['plan p: ban.factor: missing', { ...free, ban: { ...PLANS.free.ban, factor: undefined } }],
    ['plan p: partition: missing', Object.freeze({ ...free, partition: undefined })],
  ];
  for (const [named, plan] of rows) {
    for (const request of ['take', 'peek'] as const) {
      assertThrows(() => Reflect.apply(limiter[request], limiter, ['key', plan]), `TypeError: ${named}`);
    }
  }
  assert.equal(limiter.peek('key', PLANS.free, 0).inForce.remaining, 60);
});

test('the limiter accepts a plan to which the embedding program has added fields of its own', () => {
  const plan = { ...PLANS.free, price: 0, policies: PLANS.free.policies.map((policy) => ({ ...policy, shown: true })) };
  assert.equal(createMemoryLimiter().take('key', plan).inForce.remaining, 59);
});

test('a plan is frozen, and later changes of the options object do not affect the plan', () => {
  const minute = { ...perMinute(60) };
  const policies = [minute];
  const ban = { after: 3 };
  const plan = createPlan({ name: 'agreed', policies, ban });
  minute.quota = 1;
  policies.push(perDay(1));
  ban.after = 1;
  assert.deepEqual(
    plan.policies.map(({ quota }) => quota),
    [60],
  );
  assert.deepEqual(plan.ban, { ...PLANS.free.ban, after: 3 });
  for (const part of [plan, plan.policies, plan.policies[0], plan.ban, PLANS]) assert.ok(Object.isFrozen(part));
});

const day = { name: 'day', quota: 1, windowMs: 1 };
const valid = { name: 'p', policies: [day] };
const policy = (part: object) => ({ policies: [{ ...day, ...part }] });
const ban = (part: object) => ({ ban: part });
const policiesNamed = (count: number) => Array.from({ length: count }, (_, n) => ({ ...day, name: `p${n}` }));

/** Each row has the beginning of an error, and wrong parts of a valid plan. */
const WRONG: readonly (readonly [says: string, ...parts: readonly object[]])[] = [
  ['TypeError: plan.name: ', { name: undefined }, { name: '' }],
  ['TypeError: plan p: policies: ', { policies: undefined }, { policies: [] }, { policies: { length: 1 } }],
  ['RangeError: plan p: policies: expected at most 32', { policies: policiesNamed(33) }],
  ['RangeError: plan p: policies: two policies have the same name', { policies: [day, perDay(2)] }],
  ['TypeError: plan p: policies[0]: ', { policies: [null] }, { policies: [60] }],
  ['TypeError: plan p: policies[0].name: ', ...['', 1, 'a b', '1st', 'a"', 'añb'].map((name) => policy({ name }))],
  ['TypeError: plan p: policies[0].quota: ', policy({ quota: '60' }), policy({ quota: null })],
  ['RangeError: plan p: policies[0].quota: ', ...[0, 1.5, 1e15].map((quota) => policy({ quota }))],
  ['TypeError: plan p: policies[0].windowMs: ', policy({ windowMs: '60' }), policy({ windowMs: null })],
  ['RangeError: plan p: policies[0].windowMs: ', ...[0, 0.5, -1, 1e15].map((windowMs) => policy({ windowMs }))],
  ['TypeError: plan p: policies[0].refill: ', policy({ refill: 'greedy' }), policy({ refill: null })],
  ['TypeError: plan p: policies[0].align: ', policy({ align: 'local' }), policy({ align: true })],
  ['TypeError: plan p: policies[0].align: ', policy({ align: 'utc', refill: 'continuous' })],
  ['RangeError: plan p: policies[0]: ', policy({ quota: 9_007_200, windowMs: 1e9, refill: 'continuous' })],
  ['TypeError: plan p: ban: ', ...[true, null, 20, 'strict'].map((ban) => ({ ban }))],
  ['TypeError: plan p: ban: ', { partition: 'address', ban: {} }],
  ['TypeError: plan p: ban.after: ', ban({ after: '20' })],
  ['RangeError: plan p: ban.after: ', ban({ after: 0 }), ban({ after: 1_001 })],
  ['RangeError: plan p: ban.withinMs: ', ban({ withinMs: 0 })],
  ['RangeError: plan p: ban.graceMs: ', ban({ graceMs: -1 })],
  ['RangeError: plan p: ban.baseMs: ', ban({ baseMs: 0 })],
  ['RangeError: plan p: ban.factor: ', ban({ factor: 0 }), ban({ factor: 1.5 })],
  ['RangeError: plan p: ban.maxMs: ', ban({ baseMs: 9, maxMs: 8 })],
  ['RangeError: plan p: ban.forgetMs: ', ban({ forgetMs: -1 })],
  ['TypeError: plan p: partition: ', { partition: 'ip' }, { partition: null }],
  ['TypeError: plan p: bans: unknown option; expected one of name, policies, ban, partition', { bans: false }],
  ['TypeError: plan p: policies[0].windowms: unknown option; expected one of name, quota, ', policy({ windowms: 5 })],
  ['TypeError: plan p: ban.after : unknown option; expected one of after, withinMs, ', ban({ 'after ': 5 })],
];

test('createPlan throws an error that names the wrong option', () => {
  for (const [says, ...parts] of WRONG) {
    for (const part of parts) {
      assertThrows(() => Reflect.apply(createPlan, undefined, [{ ...valid, ...part }]), says, JSON.stringify(part));
    }
  }
});

test('createPlan accepts the largest allowed numbers', () => {
  const exact = { name: 'most', quota: 9_007_199, windowMs: 1_000_000_000, refill: 'continuous' } as const;
  const printed = { name: 'printed', quota: 999_999_999_999_999, windowMs: 999_999_999_999_999 };
  const ban = { after: 1_000, baseMs: 7, maxMs: 7, graceMs: 0, forgetMs: 0 };
  createPlan({ name: 'p', policies: [exact, printed, ...policiesNamed(30)], ban });
});

test('an invalid cost, maxAddresses or length of a ban throws a RangeError that names the argument, and takes no tokens', () => {
  const limiter = createMemoryLimiter();
  const plan = createPlan({ name: 'p', policies: [perMinute(5), perDay(3)] });
  for (const wrong of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
    const says = `RangeError: cost: expected a whole number from 0 to 5, the quota per minute, not ${wrong}`;
    for (const request of ['take', 'peek'] as const) assertThrows(() => limiter[request]('key', plan, wrong), says);
    assertThrows(() => createMemoryLimiter({ maxAddresses: wrong }), 'RangeError: maxAddresses: ');
    assertThrows(() => limiter.ban('key', wrong), 'RangeError: ms: ');
  }
  assert.equal(limiter.take('key', plan, 3).inForce.remaining, 0);
});
