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

/** Reports whether the state equals that of an unknown key. Such a state need not be stored. */
export function isForgettable({ refusedAtMs, banEndMs, level }: BanState): boolean {
  return refusedAtMs === 0 && banEndMs === 0 && level === 0;
}

/**
 * Returns the state at `nowMs`, without refusals and bans that have expired. If the clock has
 * stepped back, instants that lie too far in the future are moved back as well.
 */
export function settleBan(state: BanState, policy: BanPolicy | false, nowMs: number): BanState {
  if (state === NO_STRIKES) return state;
  const { refusedAtMs, forgiven, strikesAtMs, banEndMs, banMs, level, forgetAtMs } = state;
  const isRemembered = forgetAtMs > nowMs;
  const latestForgetMs = policy === false ? forgetAtMs : nowMs + policy.maxMs + policy.forgetMs;
  return {
    refusedAtMs: Math.min(refusedAtMs, nowMs),
    forgiven,
    strikesAtMs: strikesAtMs
      .map((atMs) => Math.min(atMs, nowMs))
      .filter((atMs) => policy === false || nowMs - atMs < policy.withinMs),
    banEndMs: banEndMs > nowMs ? Math.min(banEndMs, nowMs + banMs) : 0,
    banMs,
    level: isRemembered ? level : 0,
    forgetAtMs: isRemembered ? Math.min(forgetAtMs, latestForgetMs) : 0,
  };
}

/**
 * Returns how many refusals after the first can be forgiven. A client is assumed to have no more
 * requests than this in flight when it receives the first refusal.
 */
function mostForgiven(policy: BanPolicy, policies: Plan['policies']): number {
  return Math.max(10 * policy.after, Math.min(...policies.map(({ quota }) => quota)));
}

/**
 * Returns the state after a window has refused a request. `state` must be a result of `settleBan`.
 * The first refusal after an allowed request is only recorded. Each later one is forgiven or counts
 * towards a ban. When `policy.after` refusals have been counted, the key is banned.
 */
export function withRefusal(state: BanState, policy: BanPolicy, policies: Plan['policies'], nowMs: number): BanState {
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

/** Returns the state without refusals, as after an allowed request. */
export function withoutRefusals(state: BanState): BanState {
  return { ...state, refusedAtMs: 0, forgiven: 0, strikesAtMs: [] };
}

/** Returns the state with a ban that begins now. Such a ban does not make later ones longer. */
export function withBan(state: BanState, banMs: number, nowMs: number): BanState {
  return { ...withoutRefusals(state), banEndMs: nowMs + banMs, banMs };
}
