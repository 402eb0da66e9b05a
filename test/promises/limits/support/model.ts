import type { Clock, Decision, Plan } from 'store-orders/limiter';

type QuotaPolicy = Plan['policies'][number];
type WindowState = Decision['inForce'];

interface Instant {
  readonly nowMs: number;
  readonly utcOffsetMs: number;
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

export type Model = ReturnType<typeof createModel>;

/**
 * A slow and simple model of the limiter. It logs what happens in each window, and replays the
 * whole log for every call. It does not know how the limiter stores its state.
 */
export function createModel(clock: Clock) {
  const keys = new Map<string, Key>();
  const instant = () => ({ nowMs: clock.nowMs(), utcOffsetMs: clock.utcOffsetMs() });

  function find(key: string, partition: Plan['partition'] = 'key'): Key {
    const name = `${partition} ${key}`;
    const state = keys.get(name) ?? newKey();
    keys.set(name, state);
    return state;
  }

  return {
    take: (key: string, plan: Plan, cost: number) => take(find(key, plan.partition), key, plan, cost, instant()),
    peek: (key: string, plan: Plan, cost: number) =>
      take(structuredClone(find(key, plan.partition)), key, plan, cost, instant()),
    ban: (key: string, ms: number) =>
      Object.assign(find(key), { refusals: [], banMs: ms, banEndMs: clock.nowMs() + ms }),
    unban: (key: string) => Object.assign(find(key), { ...newKey(), logs: find(key).logs }),
    reset: (key: string) => keys.delete(`key ${key}`),
  };
}

function newKey(): Key {
  return { logs: new Map(), refusals: [], banEndMs: 0, banMs: 0, level: 0, forgetAtMs: 0 };
}

function take(state: Key, key: string, plan: Plan, cost: number, instant: Instant): Decision {
  const { nowMs } = instant;
  for (const [name, log] of state.logs) if (isOver(log, nowMs)) state.logs.delete(name);
  const found = plan.policies.map((policy) => look(state, policy, cost, instant));
  forgetAndClamp(state, plan, nowMs);

  const refusing = found.filter((window) => !window.fits);
  const allowed = refusing.length === 0 && state.banEndMs === 0;
  if (cost > 0 && allowed) state.refusals = [];
  if (cost > 0 && !allowed && state.banEndMs === 0) refuse(state, plan, nowMs);
  const isBanned = state.banEndMs > 0;

  for (const { policy, isAhead } of found) {
    const log = state.logs.get(nameOf(policy)) ?? [];
    const tokens = allowed ? cost : 0;
    if (tokens > 0 || isAhead) state.logs.set(nameOf(policy), [...log, { policy, instant, tokens }]);
  }
  const retryAtMs = Math.max(nowMs, state.banEndMs, ...refusing.map((window) => window.fitsAtMs));
  const windows = plan.policies.map((policy) => look(state, policy, cost, instant));
  return {
    key,
    plan,
    cost,
    allowed,
    result: allowed ? 'within_quota' : isBanned ? 'banned' : 'over_quota',
    ...instant,
    retryAfterMs: retryAtMs - nowMs,
    windows: windows.map(shown),
    inForce: isBanned ? inForceDuringBan(state, plan, cost, instant, retryAtMs) : inForceOf(windows, allowed),
  };
}

type Look = ReturnType<typeof look>;

function shown({ policy, remaining, resetAtMs, refillAtMs }: Look): WindowState {
  return { policy, remaining, resetAtMs, refillAtMs };
}

function inForceOf(windows: readonly Look[], passed: boolean): WindowState {
  const refusing = windows.filter(({ fits }) => !fits && !passed);
  const least = Math.min(...windows.map(({ remaining }) => remaining));
  const eligible = refusing.length > 0 ? refusing : windows.filter(({ remaining }) => remaining === least);
  const latestMs = Math.max(...eligible.map(({ resetAtMs }) => resetAtMs));
  const [last] = eligible.filter(({ resetAtMs }) => resetAtMs === latestMs);
  if (last === undefined) throw new Error('a plan needs at least one window');
  return shown(last);
}

/**
 * Returns the window that a decision reports during a ban. It is the window that is in force one
 * millisecond before the next request can pass. The window is reported without remaining tokens.
 */
function inForceDuringBan(state: Key, plan: Plan, cost: number, { utcOffsetMs }: Instant, passesAtMs: number) {
  const last = { nowMs: passesAtMs - 1, utcOffsetMs };
  const windows = plan.policies.map((policy) => look(state, policy, cost, last));
  return { ...inForceOf(windows, false), remaining: 0, resetAtMs: passesAtMs, refillAtMs: passesAtMs };
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
