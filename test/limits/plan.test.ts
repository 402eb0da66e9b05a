import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, createPlan, PLANS, perDay, perMinute } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { planTable } from '../../dist/limits/plan-table.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Returns a limiter of each kind. The Redis limiter decides in this process, because its server is away. */
const limiters = () => [createMemoryLimiter(), createRedisLimiter({ send: () => Promise.reject(new Error('away')) })];

/** Asserts that `act` throws an error of this class and message. */
function assertThrows(act: () => unknown, says: string, what = says): void {
  assert.throws(act, (error) => String(error) === says, what);
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

test('the table of plans has a column for each window, and no quota stands under the window of another one', () => {
  assert.deepEqual(planTable(), {
    windows: ['minute', 'day'],
    rows: [
      ['free', '60', '1,000'],
      ['pro', '300', '10,000'],
      ['business', '1,000', '100,000'],
      ['enterprise', 'agreed', 'agreed'],
    ],
  });
  const hour = { name: 'hour', quota: 2_000, windowMs: 3_600_000 };
  const pro = createPlan({ name: 'pro', policies: [perMinute(300), perDay(10_000), hour] });
  const sale = createPlan({ name: 'sale', policies: [hour] });
  assert.deepEqual(planTable([PLANS.free, pro, sale]), {
    windows: ['minute', 'hour', 'day'],
    rows: [
      ['free', '60', 'no limit', '1,000'],
      ['pro', '300', '2,000', '10,000'],
      ['sale', 'no limit', '2,000', 'no limit'],
      ['enterprise', 'agreed', 'agreed', 'agreed'],
    ],
  });
});

test('each field of the ban policy that is left out or undefined has its default, and addresses are not banned', () => {
  const banOf = (options: object) => Reflect.apply(createPlan, undefined, [{ ...valid, ...options }]).ban;
  assert.deepEqual(banOf({ ban: { after: 50, graceMs: undefined } }), { ...PLANS.free.ban, after: 50 });
  assert.deepEqual(banOf({}), PLANS.free.ban);
  assert.equal(banOf({ ban: false }), false);
  assert.equal(banOf({ partition: 'address' }), false);
});

test('a request with an invalid key, or an invalid or incomplete plan, throws a TypeError and takes no tokens', async () => {
  const day = { ...PLANS.free.policies[1] };
  const free = { ...PLANS.free, name: 'p' };
  const rows: readonly (readonly [string, unknown])[] = [
    ['plan: expected an object with name', undefined],
    ['plan: expected an object with name', null],
    ['plan: expected an object with name', 'free'],
    ['plan p: policies, ban, partition: missing', { name: 'p' }],
    ['plan p: ban, partition: missing', { name: 'p', policies: [day] }],
    ['plan p: policies[0].refill: missing', { ...free, policies: [{ ...day, refill: undefined }] }],
    ['plan p: ban.factor: missing', { ...free, ban: { ...PLANS.free.ban, factor: undefined } }],
    ['plan p: partition: missing', Object.freeze({ ...free, partition: undefined })],
  ];
  for (const { take, peek } of limiters()) {
    for (const [says, plan] of rows) {
      for (const request of [take, peek]) {
        assertThrows(() => Reflect.apply(request, undefined, ['key', plan]), `TypeError: ${says}`);
      }
    }
    assertThrows(() => Reflect.apply(take, undefined, [7, PLANS.free]), 'TypeError: key: expected a string');
    assert.equal((await peek('key', PLANS.free, 0)).inForce.remaining, 60);
  }
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
const policiesNamed = (count: number) => Array.from({ length: count }, (_, n) => ({ ...day, name: `p${n}` }));

const parts = (field: string, ...values: unknown[]) => values.map((value) => ({ [field]: value }));
const policy = (field: string, ...values: unknown[]) =>
  parts(field, ...values).map((part) => ({ policies: [{ ...day, ...part }] }));
const ban = (field: string, ...values: unknown[]) => parts('ban', ...parts(field, ...values));

const POLICY_OPTIONS = 'name, quota, windowMs, refill, align';
const BAN_OPTIONS = 'after, withinMs, graceMs, baseMs, factor, maxMs, forgetMs';
const from = (min: number) => `expected a whole number from ${min}`;

/** Each row has an error that begins with the plan, `plan p: `, and wrong parts of a valid plan. */
const WRONG: readonly (readonly [says: string, ...parts: readonly object[]])[] = [
  ['TypeError: policies: expected at least one quota policy', ...parts('policies', undefined, [], { length: 1 })],
  ['RangeError: policies: expected at most 32', { policies: policiesNamed(33) }],
  ['RangeError: policies: two policies have the same name', { policies: [day, perDay(2)] }],
  [`TypeError: policies[0]: expected an object with some of ${POLICY_OPTIONS}`, ...parts('policies', [null], [60])],
  [
    'TypeError: policies[0].name: expected a letter, then letters, digits, "_", "." or "-"',
    ...policy('name', '', 1, 'a b', '1st', 'a"', 'añb'),
  ],
  [`TypeError: policies[0].quota: ${from(1)} up`, ...policy('quota', '60', null)],
  [`RangeError: policies[0].quota: ${from(1)} up`, ...policy('quota', 0, 1.5, 1e15)],
  [`RangeError: policies[0].windowMs: ${from(1)} up`, ...policy('windowMs', 0)],
  ['TypeError: policies[0].refill: expected interval or continuous', ...policy('refill', 'greedy', null)],
  ['TypeError: policies[0].align: expected first or utc', ...policy('align', 'local', true)],
  [
    'TypeError: policies[0].align: expected "first", because refill is "continuous"',
    { policies: [{ ...day, align: 'utc', refill: 'continuous' }] },
  ],
  [
    'RangeError: policies[0]: expected quota × windowMs to be at most 2^53-1 with continuous refill',
    { policies: [{ ...day, quota: 9_007_200, windowMs: 1e9, refill: 'continuous' }] },
  ],
  [`TypeError: ban: expected an object with some of ${BAN_OPTIONS}`, ...parts('ban', true, null, 20, 'strict')],
  ['TypeError: ban: expected false, because partition is "address"', { partition: 'address', ban: {} }],
  [`RangeError: ban.after: ${from(1)} to 1000`, ...ban('after', 0, 1_001)],
  [`RangeError: ban.withinMs: ${from(1)} up`, ...ban('withinMs', 0)],
  [`RangeError: ban.graceMs: ${from(0)} up`, ...ban('graceMs', -1)],
  [`RangeError: ban.baseMs: ${from(1)} up`, ...ban('baseMs', 0)],
  [`RangeError: ban.factor: ${from(1)} up`, ...ban('factor', 0)],
  [`RangeError: ban.maxMs: ${from(9)} up`, { ban: { baseMs: 9, maxMs: 8 } }],
  [`RangeError: ban.forgetMs: ${from(0)} up`, ...ban('forgetMs', -1)],
  ['TypeError: partition: expected key or address', ...parts('partition', 'ip', null)],
  ['TypeError: bans: unknown option; expected one of name, policies, ban, partition', { bans: false }],
  [`TypeError: policies[0].windowms: unknown option; expected one of ${POLICY_OPTIONS}`, ...policy('windowms', 5)],
  [`TypeError: ban.after : unknown option; expected one of ${BAN_OPTIONS}`, ...ban('after ', 5)],
];

test('createPlan throws an error that names the plan and the wrong option', () => {
  const create = (part: object) => () => Reflect.apply(createPlan, undefined, [{ ...valid, ...part }]);
  for (const [says, ...parts] of WRONG) {
    const error = says.replace('Error: ', 'Error: plan p: ');
    for (const part of parts) assertThrows(create(part), error, JSON.stringify(part));
  }
  assertThrows(create({ name: undefined }), 'TypeError: plan.name: missing');
  for (const name of ['', 7]) assertThrows(create({ name }), 'TypeError: plan.name: expected a non-empty string');
});

test('createPlan accepts the largest allowed numbers', () => {
  const exact = { name: 'most', quota: 9_007_199, windowMs: 1_000_000_000, refill: 'continuous' } as const;
  const printed = { name: 'printed', quota: 999_999_999_999_999, windowMs: 999_999_999_999_999 };
  const ban = { after: 1_000, baseMs: 7, maxMs: 7, graceMs: 0, forgetMs: 0 };
  createPlan({ name: 'p', policies: [exact, printed, ...policiesNamed(30)], ban });
});

test('an invalid cost or length of a ban throws a RangeError that names the argument, and takes no tokens', async () => {
  const plan = createPlan({ name: 'p', policies: [perMinute(5), perDay(3)] });
  for (const limiter of limiters()) {
    await limiter.take('key', plan);
    for (const wrong of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
      const says = `RangeError: cost: expected a whole number from 0 to 5, the quota per minute, not ${wrong}`;
      for (const request of [limiter.take, limiter.peek]) assertThrows(() => request('key', plan, wrong), says);
    }
    assert.equal((await limiter.take('key', plan, 2)).inForce.remaining, 0);
  }
  const says = 'RangeError: ms: expected a whole number from 1 up';
  for (const ms of [0, 0.5]) assertThrows(() => createMemoryLimiter().ban('key', ms), says);
});
