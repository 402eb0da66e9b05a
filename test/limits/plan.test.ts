import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlan, PLANS, perDay, perMinute } from 'store-orders/limiter';
import { createStatefulLimiter } from '../../dist/limits/memory/limiter.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

test('PLANS has the plans of part 8 of the specification', () => {
  for (const [name, quotaPerMinute, quotaPerDay] of [
    ['free', 60, 1_000],
    ['pro', 300, 10_000],
    ['business', 1_000, 100_000],
  ] as const) {
    const plan = PLANS[name];
    assert.equal(plan.name, name);
    assert.deepEqual(
      plan.policies.map((policy) => [policy.name, policy.quota, policy.windowMs, policy.refill, policy.align]),
      [
        ['minute', quotaPerMinute, MINUTE_MS, 'interval', 'first'],
        ['day', quotaPerDay, DAY_MS, 'interval', 'first'],
      ],
    );
    assert.equal(plan.partition, 'key');
  }
  assert.deepEqual(Object.keys(PLANS), ['free', 'pro', 'business']);
});

test('by default, 20 refusals in one minute after the grace period ban a key for 1 minute, and each later ban is 4 times as long, up to 1 hour', () => {
  assert.deepEqual(PLANS.free.ban, {
    after: 20,
    withinMs: MINUTE_MS,
    graceMs: 2_000,
    baseMs: MINUTE_MS,
    factor: 4,
    maxMs: 3_600_000,
    forgetMs: DAY_MS,
  });
});

test('each field that is left out of the ban policy has its default', () => {
  const { ban } = createPlan({ name: 'mild', policies: [perDay(5)], ban: { after: 50 } });
  assert.ok(ban);
  assert.deepEqual(ban, { ...PLANS.free.ban, after: 50 });
  assert.equal(createPlan({ name: 'none', policies: [perDay(5)], ban: false }).ban, false);
});

test('each field of the ban policy that is undefined has its default', () => {
  const none = { after: undefined, withinMs: undefined, graceMs: undefined, baseMs: undefined };
  const ban = { ...none, factor: undefined, maxMs: undefined, forgetMs: undefined };
  assert.deepEqual(createPlan({ name: 'p', policies: [perDay(5)], ban }).ban, PLANS.free.ban);
});

test('the message about an unknown field lists the known ones', () => {
  const policies = [perDay(1)];
  const rows = [
    [
      { policies, ban: { afterr: 1 } },
      'plan p: ban.afterr: unknown option; expected one of after, withinMs, graceMs, ',
    ],
    [{ policies, burst: 1 }, 'plan p: burst: unknown option; expected one of name, policies, ban, partition'],
    [
      { policies: [{ ...perDay(1), w: 1 }] },
      'plan p: policies[0].w: unknown option; expected one of name, quota, windowMs, ',
    ],
  ] as const;
  for (const [options, start] of rows) {
    assert.throws(
      () => Reflect.apply(createPlan, undefined, [{ name: 'p', ...options }]),
      (error) => error instanceof TypeError && error.message.startsWith(start),
    );
  }
});

test('a request with an invalid or incomplete plan throws a TypeError and takes no tokens', () => {
  const limiter = createStatefulLimiter({});
  const day = { ...PLANS.free.policies[1] };
  const rows: readonly (readonly [string, unknown])[] = [
    ['plan', undefined],
    ['plan', null],
    ['plan', 'free'],
    ['plan.name', {}],
    ['plan p: policies', { name: 'p' }],
    ['plan p: policies', { ...PLANS.free, name: 'p', policies: 5 }],
    ['plan p: policies[0]', { ...PLANS.free, name: 'p', policies: [{}] }],
    ['plan p: ban: missing', { name: 'p', policies: [day] }],
    ['plan p: policies[0].refill: missing', { ...PLANS.free, name: 'p', policies: [{ ...day, refill: undefined }] }],
    ['plan p: ban.factor: missing', { ...PLANS.free, name: 'p', ban: { ...PLANS.free.ban, factor: undefined } }],
    ['plan p: partition: missing', Object.freeze({ ...PLANS.free, name: 'p', partition: undefined })],
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
  assert.equal(limiter.inspect('key'), undefined);
});

test('the limiter accepts a plan to which the embedding program has added fields of its own', () => {
  const plan = { ...PLANS.free, price: 0, policies: PLANS.free.policies.map((policy) => ({ ...policy, shown: true })) };
  assert.equal(createStatefulLimiter({}).take('key', plan).inForce.remaining, 59);
});

test('perMinute and perDay create policies with a window of a minute and a day', () => {
  assert.deepEqual(perMinute(2), { name: 'minute', quota: 2, windowMs: MINUTE_MS });
  assert.deepEqual(perDay(4), { name: 'day', quota: 4, windowMs: DAY_MS });
});

test('a plan that counts by address has no bans', () => {
  const plan = createPlan({ name: 'strangers', policies: [perMinute(600)], partition: 'address' });
  assert.equal(plan.ban, false);
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
  assert.ok(plan.ban);
  assert.equal(plan.ban.after, 3);
  for (const part of [plan, plan.policies, plan.policies[0], plan.ban, PLANS]) assert.ok(Object.isFrozen(part));
});

/** Each row has the option that the message must name, the error class, and the options as JSON. */
const bad: readonly (readonly [named: string, kind: typeof TypeError, options: string])[] = [
  ['plan.name', TypeError, '{ "policies": [{ "name": "day", "quota": 1, "windowMs": 1 }] }'],
  ['plan.name', TypeError, '{ "name": "", "policies": [{ "name": "day", "quota": 1, "windowMs": 1 }] }'],
  ['plan p: policies', TypeError, '{ "name": "p" }'],
  ['plan p: policies', TypeError, '{ "name": "p", "policies": [] }'],
  ['plan p: policies', TypeError, '{ "name": "p", "policies": { "length": 1 } }'],
  ['plan p: policies[0]', TypeError, '{ "name": "p", "policies": [null] }'],
  ['plan p: policies[0]', TypeError, '{ "name": "p", "policies": [60] }'],
  ...row('policies[0].name', TypeError, 'policy', ['{ "name": "" }', '{ "name": 1 }', '{ "name": "a b" }']),
  ...row('policies[0].name', TypeError, 'policy', ['{ "name": "1st" }', '{ "name": "a\\"" }', '{ "name": "añb" }']),
  ...row('policies[0].quota', TypeError, 'policy', ['{ "quota": "60" }', '{ "quota": null }']),
  ...row('policies[0].quota', RangeError, 'policy', ['{ "quota": 0 }', '{ "quota": 1.5 }', '{ "quota": 1e15 }']),
  ...row('policies[0].windowMs', TypeError, 'policy', ['{ "windowMs": "60" }', '{ "windowMs": null }']),
  ...row('policies[0].windowMs', RangeError, 'policy', ['{ "windowMs": 0 }', '{ "windowMs": 0.5 }']),
  ...row('policies[0].windowMs', RangeError, 'policy', ['{ "windowMs": -1 }', '{ "windowMs": 1e15 }']),
  ...row('policies[0].refill', TypeError, 'policy', ['{ "refill": "greedy" }', '{ "refill": null }']),
  ...row('policies[0].align', TypeError, 'policy', ['{ "align": "local" }', '{ "align": true }']),
  ...row('policies[0].align', TypeError, 'policy', ['{ "align": "utc", "refill": "continuous" }']),
  ...row('policies[0]', RangeError, 'policy', ['{ "quota": 9007200, "windowMs": 1e9, "refill": "continuous" }']),
  ...row('ban', TypeError, 'plan', ['{ "ban": true }', '{ "ban": null }', '{ "ban": 20 }', '{ "ban": "strict" }']),
  ...row('ban', TypeError, 'plan', ['{ "partition": "address", "ban": {} }']),
  ...row('ban.after', RangeError, 'plan', ['{ "ban": { "after": 0 } }']),
  ...row('ban.after', TypeError, 'plan', ['{ "ban": { "after": "20" } }']),
  ...row('ban.withinMs', RangeError, 'plan', ['{ "ban": { "withinMs": 0 } }']),
  ...row('ban.graceMs', RangeError, 'plan', ['{ "ban": { "graceMs": -1 } }']),
  ...row('ban.baseMs', RangeError, 'plan', ['{ "ban": { "baseMs": 0 } }']),
  ...row('ban.factor', RangeError, 'plan', ['{ "ban": { "factor": 0 } }', '{ "ban": { "factor": 1.5 } }']),
  ...row('ban.maxMs', RangeError, 'plan', ['{ "ban": { "baseMs": 9, "maxMs": 8 } }']),
  ...row('ban.forgetMs', RangeError, 'plan', ['{ "ban": { "forgetMs": -1 } }']),
  ...row('ban.after', RangeError, 'plan', ['{ "ban": { "after": 1001 } }']),
  ...row('policies[0].windowms', TypeError, 'policy', ['{ "windowms": 5 }']),
  ...row('policies[0].burst', TypeError, 'policy', ['{ "burst": 5 }']),
  ...row('ban.afterwards', TypeError, 'plan', ['{ "ban": { "afterwards": 5 } }']),
  ...row('ban.after ', TypeError, 'plan', ['{ "ban": { "after ": 5 } }']),
  ['plan p', TypeError, '{ "name": "p", "policies": [{ "name": "day", "quota": 1, "windowMs": 1 }], "bans": false }'],
  ...row('partition', TypeError, 'plan', ['{ "partition": "ip" }', '{ "partition": null }']),
];

/**
 * Returns a test row for each of these invalid parts of a plan or a policy. The rest of the row's
 * plan is valid.
 */
function row(option: string, kind: typeof TypeError, of: 'plan' | 'policy', parts: readonly string[]) {
  return parts.map((part) => {
    const policy = { name: 'day', quota: 1, windowMs: 1, ...(of === 'policy' ? JSON.parse(part) : {}) };
    const options = { name: 'p', policies: [policy], ...(of === 'plan' ? JSON.parse(part) : {}) };
    return [`plan p: ${option}`, kind, JSON.stringify(options)] as const;
  });
}

for (const [named, kind, options] of bad) {
  test(`${options} throws a ${kind.name} that names ${named}`, () => {
    assert.throws(
      () => createPlan(JSON.parse(options)),
      (error) => {
        assert.ok(error instanceof kind);
        assert.ok(error.message.startsWith(`${named}: `), error.message);
        return true;
      },
    );
  });
}

test('two policies of one plan cannot have the same name', () => {
  assert.throws(() => createPlan({ name: 'p', policies: [perDay(1), perDay(2)] }), {
    name: 'RangeError',
    message: 'plan p: policies: two policies have the same name',
  });
});

test('a plan has at most 32 policies', () => {
  const policies = Array.from({ length: 33 }, (_, n) => ({ ...perDay(1), name: `p${n}` }));
  assert.equal(createPlan({ name: 'p', policies: policies.slice(1) }).policies.length, 32);
  assert.throws(() => createPlan({ name: 'p', policies }), {
    name: 'RangeError',
    message: 'plan p: policies: expected at most 32',
  });
});

test('createPlan accepts the largest allowed numbers', () => {
  const exact = { name: 'most', quota: 9_007_199, windowMs: 1_000_000_000, refill: 'continuous' } as const;
  const printed = { name: 'printed', quota: 999_999_999_999_999, windowMs: 999_999_999_999_999 };
  createPlan({ name: 'p', policies: [exact, printed], ban: { baseMs: 7, maxMs: 7, graceMs: 0, forgetMs: 0 } });
});

test('a cost above the smallest quota throws a RangeError, and so does a cost that is not a whole number', () => {
  const limiter = createStatefulLimiter({});
  const plan = createPlan({ name: 'p', policies: [perMinute(5), perDay(3)] });
  for (const request of ['take', 'peek'] as const) {
    assert.equal(limiter[request]('key', plan, 0).verdict, 'within_quota');
    for (const cost of [4, 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => limiter[request]('key', plan, cost), {
        name: 'RangeError',
        message: new RegExp(`^cost: expected a whole number from 0 to [35], .*, not ${cost}$`),
      });
    }
  }
  assert.equal(limiter.take('key', plan, 3).inForce.remaining, 0, 'the calls that threw took no tokens');
});

test('an invalid maxAddresses and an invalid length of a ban throw a RangeError that names the argument', () => {
  for (const maxAddresses of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => createStatefulLimiter({ maxAddresses }), { name: 'RangeError', message: /^maxAddresses: / });
  }
  for (const ms of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
    assert.throws(() => createStatefulLimiter({}).ban('key', ms), { name: 'RangeError', message: /^ms: / });
  }
});
