import { checkFields, checkOneOf, checkPresent, checkWholeNumber } from '../check.js';

/**
 * A named quota and its window, with all defaults filled in and all values checked. The IETF
 * RateLimit draft calls it a "quota policy".
 */
export interface QuotaPolicy {
  readonly name: string;
  /** Requests per window, which is also the capacity of the token bucket. */
  readonly quota: number;
  readonly windowMs: number;
  /**
   * `interval` (the default): all tokens come back `windowMs` after the first was taken.
   * `continuous`: tokens come back evenly over time.
   */
  readonly refill: 'interval' | 'continuous';
  /**
   * `first` (the default): an interval window begins at its first request. `utc`: an interval
   * window ends at the next multiple of `windowMs` in UTC.
   */
  readonly align: 'first' | 'utc';
}

/**
 * The rule for banning a key that ignores 429s (specification, part 5). During a ban, every request
 * of the key is refused.
 */
export interface BanPolicy {
  /**
   * The number of refusals that start a ban, at most 1,000. The first refusal after an allowed
   * request does not count, and forgiven refusals do not count either (see `graceMs`). An allowed
   * request sets the count to 0.
   */
  readonly after: number;
  /** Refusals count towards the same ban only if they occur within this time. */
  readonly withinMs: number;
  /**
   * Refusals within this time after the first refusal are forgiven, because the requests may have
   * been sent before the client received the first 429. At most `10 × after` refusals in a row are
   * forgiven, or as many as the smallest quota of the plan if that is more. With 0, the refusals in
   * the same millisecond are forgiven.
   *
   * A client that waits as long as `Retry-After` says is never banned if it has at most `after`
   * requests in flight. Nor is it banned if its round trip is shorter than this time, and it has no
   * more requests in flight than can be forgiven. On a link with a longer round trip, choose a longer time.
   */
  readonly graceMs: number;
  /** Length of the first ban. Each further ban is `factor` times as long, up to `maxMs`. */
  readonly baseMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** After this time without a ban, the next ban is as long as a first one. */
  readonly forgetMs: number;
}

/**
 * The quota policies that a key has bought. A request takes one token from each policy, or from
 * none of them if it is refused. Create a plan with {@link createPlan}: a plan that was created in
 * another way is checked again at each request.
 */
export interface Plan {
  readonly name: string;
  /** The policies of the plan, from 1 to 32. */
  readonly policies: readonly QuotaPolicy[];
  readonly ban: BanPolicy | false;
  /**
   * `key` for API keys. `address` for client addresses. A limiter stores only a limited number of
   * addresses, because strangers choose them.
   */
  readonly partition: 'key' | 'address';
}

export interface PlanOptions {
  readonly name: string;
  /**
   * From 1 to 32 policies. The memory limiter is fastest with one or two windows of interval refill.
   * With a third window, or with continuous refill, the state of each key is an object, and a decision
   * takes 4 to 10 times as long with one key, and 10 to 20 times with 10,000: 4 µs instead of 0.3.
   */
  readonly policies: readonly QuotaPolicyOptions[];
  /** Each field has a default. `false` disables bans, and is the default for addresses. */
  readonly ban?: BanOptions | false | undefined;
  /** See {@link Plan.partition}. Default: `key`. */
  readonly partition?: 'key' | 'address' | undefined;
}

/** Every field may be left out, or `undefined`. */
type Optional<T> = { readonly [Field in keyof T]?: T[Field] | undefined };

type BanOptions = Optional<BanPolicy>;

type QuotaPolicyOptions = Pick<QuotaPolicy, 'name' | 'quota' | 'windowMs'> &
  Optional<Pick<QuotaPolicy, 'refill' | 'align'>>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const DEFAULT_BAN: BanPolicy = {
  after: 20,
  withinMs: MINUTE_MS,
  graceMs: 2_000,
  baseMs: MINUTE_MS,
  factor: 4,
  maxMs: HOUR_MS,
  forgetMs: DAY_MS,
};

const PLAN_FIELDS = ['name', 'policies', 'ban', 'partition'] as const;
const POLICY_FIELDS = ['name', 'quota', 'windowMs', 'refill', 'align'] as const;
// The list is complete, because the type of DEFAULT_BAN requires every field.
const BAN_FIELDS = Object.keys(DEFAULT_BAN) as (keyof BanPolicy)[];

/**
 * Creates a plan from options, filling in defaults. Throws a TypeError or RangeError that names the
 * bad option.
 *
 * @example
 * ```ts
 * import { createPlan, perDay, perMinute } from 'store-orders/limiter';
 *
 * const agreed = createPlan({ name: 'acme', policies: [perMinute(2_000), perDay(500_000)] });
 * ```
 */
export function createPlan(options: PlanOptions): Plan {
  const plan = complete(options, checkFields);
  created.add(plan);
  return plan;
}

/**
 * The plans that `createPlan` has created. They are frozen, so they need no second check, and what
 * limiters compute from them can be cached.
 */
const created = new WeakSet<Plan>();

/**
 * Returns the plan itself if `createPlan` created it, otherwise a copy of the plan as it is now.
 * Throws a TypeError or RangeError unless the plan is complete and valid.
 */
export function checkPlan(plan: Plan): Plan {
  return created.has(plan) ? plan : complete(plan, checkPresent);
}

/** `checkFields`, which rejects unknown fields, or `checkPresent`, which rejects missing ones. */
type CheckNames = typeof checkFields;

/** Each policy makes every request take longer, and takes space in the header fields. */
const MAX_POLICIES = 32;

function complete(options: PlanOptions, checkNames: CheckNames): Plan {
  checkPresent('plan', options, ['name']);
  const { name, policies, partition = 'key', ban = partition === 'key' ? {} : false } = options;
  if (typeof name !== 'string' || name === '') throw new TypeError('plan.name: expected a non-empty string');
  const plan = `plan ${name}:`;
  checkNames(plan, options, PLAN_FIELDS);
  const pathOf = (option: string) => `${plan} ${option}`;
  if (!Array.isArray(policies) || policies.length === 0) {
    throw new TypeError(`${pathOf('policies')}: expected at least one quota policy`);
  }
  if (policies.length > MAX_POLICIES) throw new RangeError(`${pathOf('policies')}: expected at most ${MAX_POLICIES}`);
  checkOneOf(pathOf('partition'), partition, ['key', 'address']);
  if (partition === 'address' && ban !== false) {
    throw new TypeError(`${pathOf('ban')}: expected false, because partition is "address"`);
  }
  const completed = policies.map((policy, index) => completePolicy(pathOf(`policies[${index}]`), policy, checkNames));
  const names = new Set(completed.map((policy) => policy.name));
  if (names.size < completed.length) throw new RangeError(`${pathOf('policies')}: two policies have the same name`);
  return Object.freeze({
    name,
    policies: Object.freeze(completed),
    ban: ban === false ? false : completeBan(pathOf('ban'), ban, checkNames),
    partition,
  });
}

function completePolicy(where: string, options: QuotaPolicyOptions, checkNames: CheckNames): QuotaPolicy {
  checkNames(where, options, POLICY_FIELDS);
  const { name, quota, windowMs, refill = 'interval', align = 'first' } = options;
  // Headers carry the name as a structured-fields string (RFC 9651 §3.3.3), where these characters
  // need no escape.
  if (typeof name !== 'string' || !/^[A-Za-z][A-Za-z0-9_.-]*$/.test(name)) {
    throw new TypeError(`${where}.name: expected a letter, then letters, digits, "_", "." or "-"`);
  }
  checkWholeNumber(`${where}.quota`, quota, 1);
  checkWholeNumber(`${where}.windowMs`, windowMs, 1);
  checkOneOf(`${where}.refill`, refill, ['interval', 'continuous']);
  checkOneOf(`${where}.align`, align, ['first', 'utc']);
  if (refill === 'continuous' && align === 'utc') {
    throw new TypeError(`${where}.align: expected "first", because refill is "continuous"`);
  }
  if (refill === 'continuous' && quota * windowMs > Number.MAX_SAFE_INTEGER) {
    throw new RangeError(`${where}: expected quota × windowMs to be at most 2^53-1 with continuous refill`);
  }
  return Object.freeze({ name, quota, windowMs, refill, align });
}

/** The largest `ban.after`, because the instant of every refusal that counts is stored. */
const MAX_STRIKES = 1_000;

function completeBan(where: string, options: BanOptions, checkNames: CheckNames): BanPolicy {
  checkNames(where, options, BAN_FIELDS);
  function checkField(field: keyof BanPolicy, min: number, max?: number): number {
    const { [field]: value = DEFAULT_BAN[field] } = options;
    checkWholeNumber(`${where}.${field}`, value, min, max);
    return value;
  }
  const baseMs = checkField('baseMs', 1);
  return Object.freeze({
    after: checkField('after', 1, MAX_STRIKES),
    withinMs: checkField('withinMs', 1),
    graceMs: checkField('graceMs', 0),
    baseMs,
    factor: checkField('factor', 1),
    maxMs: checkField('maxMs', baseMs),
    forgetMs: checkField('forgetMs', 0),
  });
}

/** Returns a policy of `quota` requests per minute. */
export function perMinute(quota: number): QuotaPolicyOptions {
  return { name: 'minute', quota, windowMs: MINUTE_MS };
}

/** Returns a policy of `quota` requests per day of 24 hours. */
export function perDay(quota: number): QuotaPolicyOptions {
  return { name: 'day', quota, windowMs: DAY_MS };
}

/**
 * The fixed plans of the specification, part 8. Enterprise plans are agreed individually: create
 * them with {@link createPlan}.
 */
export const PLANS = Object.freeze({
  free: createPlan({ name: 'free', policies: [perMinute(60), perDay(1_000)] }),
  pro: createPlan({ name: 'pro', policies: [perMinute(300), perDay(10_000)] }),
  business: createPlan({ name: 'business', policies: [perMinute(1_000), perDay(100_000)] }),
});
