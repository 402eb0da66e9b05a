import type { BanState } from './limiter.js';
import type { BanPolicy, Plan } from './plan.js';

export const NO_STRIKES: BanState = {
  refusedAtMs: 0,
  forgiven: 0,
  strikesAtMs: [],
  banEndMs: 0,
  banMs: 0,
  level: 0,
  forgetAtMs: 0,
};

/** Reports whether the state can be dropped, because it equals that of an unknown key. */
export function isForgettable({ refusedAtMs, banEndMs, level }: BanState): boolean {
  return refusedAtMs === 0 && banEndMs === 0 && level === 0;
}

/**
 * Brings the state up to `nowMs`. Drops expired strikes, bans and levels. If the clock has stepped
 * back, clamps instants that would lie too far ahead.
 */
export function settleBan(state: BanState, policy: BanPolicy | false, nowMs: number): BanState {
  if (state === NO_STRIKES) return state;
  const { refusedAtMs, forgiven, strikesAtMs, banEndMs, banMs, level, forgetAtMs } = state;
  const isRunning = banEndMs > nowMs;
  const isRemembered = forgetAtMs > nowMs;
  const latestForgetMs = policy === false ? forgetAtMs : nowMs + policy.maxMs + policy.forgetMs;
  return {
    refusedAtMs: Math.min(refusedAtMs, nowMs),
    forgiven,
    strikesAtMs: strikesAtMs
      .map((atMs) => Math.min(atMs, nowMs))
      .filter((atMs) => policy === false || nowMs - atMs < policy.withinMs),
    banEndMs: isRunning ? Math.min(banEndMs, nowMs + banMs) : 0,
    banMs: isRunning ? banMs : 0,
    level: isRemembered ? level : 0,
    forgetAtMs: isRemembered ? Math.min(forgetAtMs, latestForgetMs) : 0,
  };
}

/**
 * Returns how many refusals of a streak can be forgiven. More requests cannot have been in flight.
 */
function mostForgiven(policy: BanPolicy, policies: Plan['policies']): number {
  return Math.max(10 * policy.after, Math.min(...policies.map(({ quota }) => quota)));
}

/**
 * Returns the state after a window has refused a request. `state` must be a result of `settleBan`.
 * The refusal starts a streak, is forgiven, or counts as a strike. Strike number `after` bans the
 * key.
 */
export function refused(state: BanState, policy: BanPolicy, policies: Plan['policies'], nowMs: number): BanState {
  const { refusedAtMs, forgiven, strikesAtMs, level } = state;
  if (refusedAtMs === 0) return { ...state, refusedAtMs: nowMs };
  if (nowMs - refusedAtMs <= policy.graceMs && forgiven < mostForgiven(policy, policies)) {
    return { ...state, forgiven: forgiven + 1 };
  }
  if (strikesAtMs.length + 1 < policy.after) return { ...state, strikesAtMs: [...strikesAtMs, nowMs] };
  const banMs = Math.min(policy.maxMs, policy.baseMs * policy.factor ** level);
  const banEndMs = nowMs + banMs;
  return { ...NO_STRIKES, banEndMs, banMs, level: level + 1, forgetAtMs: banEndMs + policy.forgetMs };
}

/**
 * Returns the state after an allowed request, which ends the streak. `state` must be a result of
 * `settleBan`.
 */
export function passed(state: BanState): BanState {
  return state.refusedAtMs === 0 ? state : { ...state, refusedAtMs: 0, forgiven: 0, strikesAtMs: [] };
}

/** Returns the state with a ban set by hand, starting now. It does not raise the level. */
export function banned(state: BanState, banMs: number, nowMs: number): BanState {
  return { ...passed(state), banEndMs: nowMs + banMs, banMs };
}
