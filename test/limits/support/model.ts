import type { Plan } from 'store-orders/limiter';

type QuotaPolicy = Plan['policies'][number];

/**
 * A slow and simple model of the limiter. It logs what happens in each window, and replays the
 * whole log for every call. It does not know how the limiter stores its state.
 */
export interface Model {
  take(key: string, plan: Plan, cost: number, instant: Instant): Answer;
  peek(key: string, plan: Plan, cost: number, instant: Instant): Answer;
  ban(key: string, ms: number, nowMs: number): void;
  unban(key: string): void;
  reset(key: string): void;
}

interface Instant {
  readonly nowMs: number;
  readonly utcOffsetMs: number;
}

export interface Answer {
  readonly key: string;
  readonly plan: Plan;
  readonly cost: number;
  readonly allowed: boolean;
  readonly verdict: 'within_quota' | 'over_quota' | 'banned';
  readonly retryAfterMs: number;
  readonly windows: readonly AnsweredWindow[];
  readonly inForce: AnsweredWindow;
}

export interface AnsweredWindow {
  readonly name: string;
  readonly remaining: number;
  readonly resetAtMs: number;
  readonly refillAtMs: number;
}

/**
 * An event of a window. Zero `tokens` record that the clock had stepped back when the window was
 * read.
 */
interface Entry {
  readonly policy: QuotaPolicy;
  readonly instant: Instant;
  readonly tokens: number;
}

interface Key {
  readonly logs: Map<string, Entry[]>;
  /**
   * The requests that were refused since the last allowed request: when each came, and how it
   * counts towards a ban.
   */
  refusals: { readonly atMs: number; readonly as: 'first' | 'forgiven' | 'strike' }[];
  banEndMs: number;
  banMs: number;
  level: number;
  forgetAtMs: number;
}

export function createModel(): Model {
  const keys = new Map<string, Key>();
  const bucketKey = (key: string, plan: Plan) => (plan.partition === 'address' ? `address ${key}` : `key ${key}`);
  const find = (name: string): Key => keys.get(name) ?? newKey();

  return {
    take(key, plan, cost, instant) {
      const state = find(bucketKey(key, plan));
      keys.set(bucketKey(key, plan), state);
      return take(state, key, plan, cost, instant);
    },
    peek: (key, plan, cost, instant) => take(structuredClone(find(bucketKey(key, plan))), key, plan, cost, instant),
    ban(key, ms, nowMs) {
      const state = find(`key ${key}`);
      keys.set(`key ${key}`, state);
      state.refusals = [];
      state.banMs = ms;
      state.banEndMs = nowMs + ms;
    },
    unban: (key) => keys.set(`key ${key}`, { ...newKey(), logs: find(`key ${key}`).logs }),
    reset: (key) => keys.delete(`key ${key}`),
  };
}

function newKey(): Key {
  return {
    logs: new Map(),
    refusals: [],
    banEndMs: 0,
    banMs: 0,
    level: 0,
    forgetAtMs: 0,
  };
}

function take(state: Key, key: string, plan: Plan, cost: number, instant: Instant): Answer {
  const { nowMs } = instant;
  for (const [name, log] of state.logs) if (isOver(log, nowMs)) state.logs.delete(name);
  const found = plan.policies.map((policy) => look(state, policy, cost, instant));
  forgetAndClamp(state, plan, nowMs);

  const refusing = found.filter((window) => !window.fits);
  const passes = refusing.length === 0 && state.banEndMs === 0;
  if (cost > 0 && passes) state.refusals = [];
  if (cost > 0 && !passes && state.banEndMs === 0) refuse(state, plan, nowMs);
  const isBanned = state.banEndMs > 0;

  for (const { policy, isAhead } of found) {
    const log = state.logs.get(nameOf(policy)) ?? [];
    if (passes && cost > 0) state.logs.set(nameOf(policy), [...log, { policy, instant, tokens: cost }]);
    else if (isAhead) state.logs.set(nameOf(policy), [...log, { policy, instant, tokens: 0 }]);
  }
  const retryAtMs = Math.max(nowMs, state.banEndMs, ...refusing.map((window) => window.fitsAtMs));
  const windows = lookAtAll(state, plan, cost, instant);
  return {
    key,
    plan,
    cost,
    allowed: passes,
    verdict: passes ? 'within_quota' : isBanned ? 'banned' : 'over_quota',
    retryAfterMs: retryAtMs - nowMs,
    windows: windows.map(({ window }) => window),
    inForce: isBanned ? inForceDuringBan(state, plan, cost, instant, retryAtMs) : inForceOf(windows, passes),
  };
}

function lookAtAll(state: Key, plan: Plan, cost: number, instant: Instant) {
  return plan.policies.map((policy) => {
    const { fits, remaining, resetAtMs, refillAtMs } = look(state, policy, cost, instant);
    return { fits, window: { name: policy.name, remaining, resetAtMs, refillAtMs } };
  });
}

function inForceOf(windows: ReturnType<typeof lookAtAll>, passed: boolean): AnsweredWindow {
  const refusing = windows.filter(({ fits }) => !fits && !passed);
  if (refusing.length > 0) return lastToReset(refusing.map(({ window }) => window));
  return leastRemaining(windows.map(({ window }) => window));
}

/**
 * Returns the window that a decision reports during a ban. It is the window that is in force one
 * millisecond before the next request can pass. The window is reported without remaining tokens.
 */
function inForceDuringBan(state: Key, plan: Plan, cost: number, { utcOffsetMs }: Instant, passesAtMs: number) {
  const windows = lookAtAll(state, plan, cost, { nowMs: passesAtMs - 1, utcOffsetMs });
  return { ...inForceOf(windows, false), remaining: 0, resetAtMs: passesAtMs, refillAtMs: passesAtMs };
}

function lastToReset(windows: readonly AnsweredWindow[]): AnsweredWindow {
  const latestMs = Math.max(...windows.map((window) => window.resetAtMs));
  const last = windows.find((window) => window.resetAtMs === latestMs);
  if (last === undefined) throw new Error('a plan needs at least one window');
  return last;
}

function leastRemaining(windows: readonly AnsweredWindow[]): AnsweredWindow {
  const least = Math.min(...windows.map((window) => window.remaining));
  return lastToReset(windows.filter((window) => window.remaining === least));
}

function look(state: Key, policy: QuotaPolicy, cost: number, instant: Instant) {
  const { nowMs } = instant;
  const { quota, windowMs, refill } = policy;
  const log = state.logs.get(nameOf(policy)) ?? [];
  const now: Entry = { policy, instant, tokens: 0 };
  if (refill === 'interval') {
    const { used, endMs } = replayInterval([...log, now]);
    const isAhead = log.length > 0 && replayInterval(log).endMs > nowMs + windowMs;
    const remaining = Math.max(0, quota - used);
    const fits = used + cost <= quota;
    return { policy, fits, remaining, resetAtMs: endMs, refillAtMs: endMs, fitsAtMs: endMs, isAhead };
  }
  const deficit = replayContinuous([...log, now]);
  const capacity = BigInt(quota) * BigInt(windowMs);
  const missing = deficit + BigInt(cost) * BigInt(windowMs) - capacity;
  const remaining = (capacity - deficit) / BigInt(windowMs);
  // How much must be refilled until one more token is available. If the bucket is full, no more
  // tokens can become available, and the limiter reports the time that one token takes.
  const toOneMore = deficit === 0n ? BigInt(windowMs) : deficit + (remaining + 1n) * BigInt(windowMs) - capacity;
  return {
    policy,
    fits: missing <= 0n,
    remaining: Number(remaining),
    refillAtMs: nowMs + msToRefill(toOneMore, quota),
    resetAtMs: nowMs + msToRefill(deficit, quota),
    fitsAtMs: nowMs + msToRefill(missing, quota),
    isAhead: (log.at(-1)?.instant.nowMs ?? nowMs) > nowMs,
  };
}

/**
 * Replays the log of an interval window. The window begins when a token is taken from a full
 * bucket. If the clock steps back, the window ends at most one window length after the new time.
 */
function replayInterval(log: readonly Entry[]): { used: number; endMs: number } {
  let used = 0;
  let endMs = 0;
  for (const { policy, instant, tokens } of log) {
    const { nowMs, utcOffsetMs } = instant;
    const { windowMs, align } = policy;
    if (used === 0 || endMs <= nowMs) {
      used = 0;
      const nextUtcMs = (Math.floor((nowMs + utcOffsetMs) / windowMs) + 1) * windowMs - utcOffsetMs;
      endMs = align === 'utc' ? nextUtcMs : nowMs + windowMs;
    }
    endMs = Math.min(endMs, nowMs + windowMs);
    used = Math.max(0, used + tokens);
  }
  return { used, endMs };
}

/**
 * Returns the deficit after the last entry, in token·ms. A taken token adds `windowMs` to the
 * deficit, and each millisecond subtracts `quota`.
 */
function replayContinuous(log: readonly Entry[]): bigint {
  let deficit = 0n;
  let beforeMs = Number.POSITIVE_INFINITY;
  for (const { policy, instant, tokens } of log) {
    const windowMs = BigInt(policy.windowMs);
    const quota = BigInt(policy.quota);
    const elapsedMs = BigInt(Math.max(0, instant.nowMs - beforeMs));
    const capped = deficit < quota * windowMs ? deficit : quota * windowMs;
    deficit = atLeastNone(atLeastNone(capped - elapsedMs * quota) + BigInt(tokens) * windowMs);
    beforeMs = instant.nowMs;
  }
  return deficit;
}

function atLeastNone(deficit: bigint): bigint {
  return deficit > 0n ? deficit : 0n;
}

function msToRefill(deficit: bigint, quota: number): number {
  return Number((deficit + BigInt(quota) - 1n) / BigInt(quota));
}

function nameOf({ name, windowMs, refill }: QuotaPolicy): string {
  return `${name} ${windowMs} ${refill}`;
}

/** Reports whether all tokens of a window have been refilled by `nowMs`, whatever its quota. */
function isOver(log: readonly Entry[], nowMs: number): boolean {
  const last = log.at(-1);
  if (last === undefined) return true;
  const { policy, instant } = last;
  return (policy.refill === 'interval' ? replayInterval(log).endMs : instant.nowMs + policy.windowMs) <= nowMs;
}

/**
 * Drops expired refusals, bans and ban levels. If the clock has stepped back, moves times that are
 * too far in the future back to the latest possible time.
 */
function forgetAndClamp(state: Key, { ban }: Plan, nowMs: number): void {
  state.refusals = state.refusals
    .map(({ atMs, as }) => ({ atMs: Math.min(atMs, nowMs), as }))
    .filter(({ atMs, as }) => as !== 'strike' || ban === false || nowMs < atMs + ban.withinMs);
  if (state.banEndMs <= nowMs) state.banEndMs = 0;
  state.banEndMs = Math.min(state.banEndMs, nowMs + state.banMs);
  if (state.forgetAtMs <= nowMs) state.level = 0;
  if (ban === false) return;
  state.forgetAtMs = Math.min(state.forgetAtMs, nowMs + ban.maxMs + ban.forgetMs);
}

function refuse(state: Key, { ban, policies }: Plan, nowMs: number): void {
  if (ban === false) return;
  const [first] = state.refusals;
  const count = (kind: string) => state.refusals.filter(({ as }) => as === kind).length;
  const mostForgiven = Math.max(10 * ban.after, Math.min(...policies.map(({ quota }) => quota)));
  const isForgiven = first !== undefined && nowMs <= first.atMs + ban.graceMs && count('forgiven') < mostForgiven;
  const as = first === undefined ? 'first' : isForgiven ? 'forgiven' : 'strike';
  state.refusals.push({ atMs: nowMs, as });
  if (as !== 'strike' || count('strike') < ban.after) return;
  let banMs = ban.baseMs;
  for (let level = 0; level < state.level; level++) banMs = Math.min(banMs * ban.factor, ban.maxMs);
  state.refusals = [];
  state.banMs = Math.min(banMs, ban.maxMs);
  state.banEndMs = nowMs + state.banMs;
  state.level += 1;
  state.forgetAtMs = state.banEndMs + ban.forgetMs;
}
