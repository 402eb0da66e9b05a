import { isForgettable, NO_STRIKES, settleBan, withoutRefusals, withRefusal } from './ban.js';
import type { BanState, BucketIdentity, Decision, KeyState, NamedBucket, WindowState } from './limiter.js';
import type { Plan, QuotaPolicy } from './plan.js';
import {
  type Bucket,
  holds,
  holdsAtMs,
  type Instant,
  refillAtMs,
  remaining,
  resetAtMs,
  settle,
  withTaken,
} from './token-bucket.js';

/** A window of a plan, and whether it refuses the request. */
export interface SettledWindow {
  readonly policy: QuotaPolicy;
  /** The bucket as `settle` returns it, or that bucket after the request was charged. */
  readonly bucket: Bucket;
  readonly refuses: boolean;
}

/**
 * Decides on one request, as all limiters do: the request passes if every window has enough tokens
 * and the key is not banned. Pure: `state` is not changed. `cost` must be a whole number, and must
 * not exceed any quota.
 */
export function decide(key: string, state: KeyState | undefined, plan: Plan, cost: number, instant: Instant) {
  const { nowMs } = instant;
  const before = plan.policies.map((policy) => settleWindow(bucketOf(state, policy), policy, cost, instant));
  const banBefore = settleBan(state?.ban ?? NO_STRIKES, plan.ban, nowMs);
  const passes = banBefore.banEndMs === 0 && before.every(({ refuses }) => !refuses);
  const ban = banAfter(banBefore, plan, cost, passes, nowMs);
  const after = passes ? before.map((window) => chargeWindow(window, cost)) : before;
  return {
    decision: decisionOf({ key, plan, cost }, after, passes, ban.banEndMs, instant),
    /** The state to store for the key, or `undefined` to forget the key. */
    next: stateAfter(state, after, passes && cost > 0, ban, nowMs),
  };
}

/**
 * Returns the decision on a request. `windows` are the settled windows after the request, and
 * `banEndMs` is the end of the key's ban, or 0.
 */
export function decisionOf(
  request: Pick<Decision, 'key' | 'plan' | 'cost'>,
  windows: readonly SettledWindow[],
  passes: boolean,
  banEndMs: number,
  { nowMs, utcOffsetMs }: Instant,
): Decision {
  const { key, plan, cost } = request;
  const states = windows.map(({ policy, bucket }) => windowState(policy, bucket));
  const retryAtMs = windows.reduce(
    (latest, { policy, bucket, refuses }) => (refuses ? Math.max(latest, holdsAtMs(bucket, policy, cost)) : latest),
    Math.max(nowMs, banEndMs),
  );
  const isBanned = banEndMs > 0;
  return {
    key,
    plan,
    cost,
    allowed: passes,
    result: passes ? 'within_quota' : isBanned ? 'banned' : 'over_quota',
    nowMs,
    utcOffsetMs,
    retryAfterMs: retryAtMs - nowMs,
    windows: states,
    inForce: isBanned ? inForceDuringBan(windows, cost, { nowMs: retryAtMs, utcOffsetMs }) : inForceOf(states, windows),
  };
}

/** Returns the window at this instant. `stored` is the bucket that is stored for it, if any. */
function settleWindow(stored: Bucket | undefined, policy: QuotaPolicy, cost: number, instant: Instant): SettledWindow {
  const bucket = settle(stored, policy, instant);
  return { policy, bucket, refuses: !holds(bucket, policy, cost) };
}

function chargeWindow({ policy, bucket, refuses }: SettledWindow, cost: number): SettledWindow {
  return { policy, bucket: withTaken(bucket, policy, cost), refuses };
}

function windowState(policy: QuotaPolicy, bucket: Bucket): WindowState {
  return {
    policy,
    remaining: remaining(bucket, policy),
    resetAtMs: resetAtMs(bucket, policy),
    refillAtMs: refillAtMs(bucket, policy),
  };
}

function banAfter(ban: BanState, plan: Plan, cost: number, passes: boolean, nowMs: number): BanState {
  // Refusals during a ban do not count, so they never make the ban longer.
  if (cost === 0 || ban.banEndMs > 0) return ban;
  if (passes) return withoutRefusals(ban);
  return plan.ban === false ? ban : withRefusal(ban, plan.ban, plan.policies, nowMs);
}

function inForceOf(windows: readonly WindowState[], settledWindows: readonly SettledWindow[]): WindowState {
  const refusing = windows.filter((_, index) => settledWindows[index]?.refuses);
  return refusing.length > 0 ? refusing.reduce((a, b) => (b.resetAtMs > a.resetAtMs ? b : a)) : windows.reduce(scarcer);
}

/** Returns `inForce` of a banned key. `passesAt` is the instant when a request would pass. */
function inForceDuringBan(before: readonly SettledWindow[], cost: number, passesAt: Instant): WindowState {
  const justBefore = { ...passesAt, nowMs: passesAt.nowMs - 1 };
  const settled = before.map(({ policy, bucket }) => settleWindow(bucket, policy, cost, justBefore));
  const { policy } = inForceOf(
    settled.map(({ policy, bucket }) => windowState(policy, bucket)),
    settled,
  );
  return { policy, remaining: 0, resetAtMs: passesAt.nowMs, refillAtMs: passesAt.nowMs };
}

/**
 * Returns which of two windows to announce if neither refuses the request: the one with fewer
 * tokens left. If both have the same number left, it is the one that resets later.
 */
export function scarcer(a: WindowState, b: WindowState): WindowState {
  if (a.remaining !== b.remaining) return a.remaining < b.remaining ? a : b;
  return b.resetAtMs > a.resetAtMs ? b : a;
}

/**
 * Returns the state to store. A bucket changes only if it was charged, or if its window ends
 * earlier because the clock has stepped back.
 */
function stateAfter(
  state: KeyState | undefined,
  after: readonly SettledWindow[],
  isCharged: boolean,
  ban: BanState,
  nowMs: number,
): KeyState | undefined {
  const changed: NamedBucket[] = [];
  for (const { policy, bucket } of after) {
    const { name, windowMs, refill } = policy;
    const stored = bucketOf(state, policy);
    const isPulledBack = stored !== undefined && bucket.atMs < stored.atMs;
    if (isCharged || isPulledBack) changed.push({ name, windowMs, refill, ...bucket });
  }
  const kept = (state?.buckets ?? []).filter(
    (bucket) => fullByMs(bucket) > nowMs && !changed.some((other) => isSameBucket(bucket, other)),
  );
  return keyState([...kept, ...changed], ban);
}

/** Returns the state of a key as it is stored, or `undefined` if nothing needs to be stored. */
export function keyState(buckets: readonly NamedBucket[], ban: BanState = NO_STRIKES): KeyState | undefined {
  if (!isForgettable(ban)) return { buckets, ban };
  return buckets.length === 0 ? undefined : { buckets };
}

/** Returns the time from which the state equals that of an unknown key, and can be dropped. */
export function expiresAtMs({ buckets, ban }: KeyState): number {
  return Math.max(ban?.banEndMs ?? 0, ban?.forgetAtMs ?? 0, ...buckets.map(fullByMs));
}

function fullByMs({ refill, atMs, windowMs }: NamedBucket): number {
  return refill === 'interval' ? atMs : atMs + windowMs;
}

function bucketOf(state: KeyState | undefined, policy: QuotaPolicy): NamedBucket | undefined {
  return state?.buckets.find((bucket) => isSameBucket(bucket, policy));
}

export function isSameBucket(a: BucketIdentity, b: BucketIdentity): boolean {
  return a.name === b.name && a.windowMs === b.windowMs && a.refill === b.refill;
}
