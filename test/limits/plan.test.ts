import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, createPlan, PLANS, perDay, perMinute } from 'store-orders/limiter';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

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
    ['plan.name', {}],
    ['plan p: policies', { name: 'p' }],
    ['plan p: policies', { ...free, policies: 5 }],
    ['plan p: policies[0]', { ...free, policies: [{}] }],
    ['plan p: ban: missing', { name: 'p', policies: [day] }],
    ['plan p: policies[0].refill: missing', { ...free, policies: [{ ...day, refill: undefined }] }],
    ['plan p: ban.factor: missing', { ...free, ban: { ...PLANS.free.ban, factor: undefined } }],
    ['plan p: partition: missing', Object.freeze({ ...free, partition: undefined })],
  ];
  for (const [named, plan] of rows) {
    for (const request of ['take', 'peek'] as const) {
      assert.throws(
        () => Reflect.apply(limiter[request], limiter, ['key', plan]),
        (error) => error instanceof TypeError && error.message.startsWith(named),
        `${request} ${named}`,
      );
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

/** Each row has the beginning of the message, the error class, and wrong parts of a valid plan. */
const WRONG: readonly (readonly [says: string, kind: typeof TypeError, ...parts: readonly object[]])[] = [
  ['plan.name: ', TypeError, { name: undefined }, { name: '' }],
  ['plan p: policies: ', TypeError, { policies: undefined }, { policies: [] }, { policies: { length: 1 } }],
  ['plan p: policies: expected at most 32', RangeError, { policies: policiesNamed(33) }],
  ['plan p: policies: two policies have the same name', RangeError, { policies: [day, perDay(2)] }],
  ['plan p: policies[0]: ', TypeError, { policies: [null] }, { policies: [60] }],
  ['plan p: policies[0].name: ', TypeError, ...['', 1, 'a b', '1st', 'a"', 'añb'].map((name) => policy({ name }))],
  ['plan p: policies[0].quota: ', TypeError, policy({ quota: '60' }), policy({ quota: null })],
  ['plan p: policies[0].quota: ', RangeError, ...[0, 1.5, 1e15].map((quota) => policy({ quota }))],
  ['plan p: policies[0].windowMs: ', TypeError, policy({ windowMs: '60' }), policy({ windowMs: null })],
  ['plan p: policies[0].windowMs: ', RangeError, ...[0, 0.5, -1, 1e15].map((windowMs) => policy({ windowMs }))],
  ['plan p: policies[0].refill: ', TypeError, policy({ refill: 'greedy' }), policy({ refill: null })],
  ['plan p: policies[0].align: ', TypeError, policy({ align: 'local' }), policy({ align: true })],
  ['plan p: policies[0].align: ', TypeError, policy({ align: 'utc', refill: 'continuous' })],
  ['plan p: policies[0]: ', RangeError, policy({ quota: 9_007_200, windowMs: 1e9, refill: 'continuous' })],
  ['plan p: ban: ', TypeError, ...[true, null, 20, 'strict'].map((ban) => ({ ban }))],
  ['plan p: ban: ', TypeError, { partition: 'address', ban: {} }],
  ['plan p: ban.after: ', TypeError, ban({ after: '20' })],
  ['plan p: ban.after: ', RangeError, ban({ after: 0 }), ban({ after: 1_001 })],
  ['plan p: ban.withinMs: ', RangeError, ban({ withinMs: 0 })],
  ['plan p: ban.graceMs: ', RangeError, ban({ graceMs: -1 })],
  ['plan p: ban.baseMs: ', RangeError, ban({ baseMs: 0 })],
  ['plan p: ban.factor: ', RangeError, ban({ factor: 0 }), ban({ factor: 1.5 })],
  ['plan p: ban.maxMs: ', RangeError, ban({ baseMs: 9, maxMs: 8 })],
  ['plan p: ban.forgetMs: ', RangeError, ban({ forgetMs: -1 })],
  ['plan p: partition: ', TypeError, { partition: 'ip' }, { partition: null }],
  ['plan p: bans: unknown option; expected one of name, policies, ban, partition', TypeError, { bans: false }],
  ['plan p: policies[0].windowms: unknown option; expected one of name, quota, ', TypeError, policy({ windowms: 5 })],
  ['plan p: ban.after : unknown option; expected one of after, withinMs, ', TypeError, ban({ 'after ': 5 })],
];

test('createPlan throws an error that names the wrong option', () => {
  for (const [says, kind, ...parts] of WRONG) {
    for (const part of parts) {
      assert.throws(
        () => Reflect.apply(createPlan, undefined, [{ ...valid, ...part }]),
        (error) => error instanceof kind && error.message.startsWith(says),
        JSON.stringify(part),
      );
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
    for (const request of ['take', 'peek'] as const) {
      assert.throws(() => limiter[request]('key', plan, wrong), {
        name: 'RangeError',
        message: `cost: expected a whole number from 0 to 5, the quota per minute, not ${wrong}`,
      });
    }
    assert.throws(() => createMemoryLimiter({ maxAddresses: wrong }), {
      name: 'RangeError',
      message: /^maxAddresses: /,
    });
    assert.throws(() => limiter.ban('key', wrong), { name: 'RangeError', message: /^ms: / });
  }
  assert.equal(limiter.take('key', plan, 3).inForce.remaining, 0);
});
