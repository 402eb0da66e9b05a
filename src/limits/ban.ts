import type { Conduct } from './limiter.js';
import type { BanPolicy } from './plan.js';

export const GOOD_CONDUCT: Conduct = {
  refusedAtMs: 0,
  strikes: 0,
  strikesEndMs: 0,
  banEndMs: 0,
  banMs: 0,
  level: 0,
  forgetAtMs: 0,
};

/** Whether there is nothing to remember. */
export function isGood({ refusedAtMs, strikes, banEndMs, level }: Conduct): boolean {
  return refusedAtMs === 0 && strikes === 0 && banEndMs === 0 && level === 0;
}

/** The conduct as of now: what is over is forgotten, and nothing is further away than it can be, had the clock stepped back. */
export function settleConduct(conduct: Conduct, ban: BanPolicy | false, nowMs: number): Conduct {
  if (conduct === GOOD_CONDUCT) return conduct;
  const { refusedAtMs, strikes, strikesEndMs, banEndMs, banMs, level, forgetAtMs } = conduct;
  const counting = strikesEndMs > nowMs;
  const remembered = forgetAtMs > nowMs;
  return {
    refusedAtMs: Math.min(refusedAtMs, nowMs),
    strikes: counting ? strikes : 0,
    strikesEndMs: counting ? atMost(strikesEndMs, ban && nowMs + ban.withinMs) : 0,
    banEndMs: banEndMs > nowMs ? Math.min(banEndMs, nowMs + banMs) : 0,
    banMs: banEndMs > nowMs ? banMs : 0,
    level: remembered ? level : 0,
    forgetAtMs: remembered ? atMost(forgetAtMs, ban && nowMs + ban.maxMs + ban.forgetMs) : 0,
  };
}

function atMost(instantMs: number, latestMs: number | false): number {
  return latestMs === false ? instantMs : Math.min(instantMs, latestMs);
}

/** A settled conduct after a refusal by a window: the begin of an episode, a forgiven request, a strike, or the strike that bans. */
export function refused(conduct: Conduct, ban: BanPolicy, nowMs: number): Conduct {
  if (conduct.refusedAtMs === 0) return { ...conduct, refusedAtMs: nowMs };
  if (nowMs - conduct.refusedAtMs <= ban.graceMs) return conduct;
  const strikes = conduct.strikes + 1;
  if (strikes < ban.after) {
    return { ...conduct, strikes, strikesEndMs: conduct.strikes === 0 ? nowMs + ban.withinMs : conduct.strikesEndMs };
  }
  const banMs = Math.min(ban.maxMs, ban.baseMs * ban.factor ** conduct.level);
  const banEndMs = nowMs + banMs;
  return {
    ...GOOD_CONDUCT,
    banEndMs,
    banMs,
    level: conduct.level + 1,
    forgetAtMs: banEndMs + ban.forgetMs,
  };
}

/** A settled conduct after a request that passed: the episode and its strikes are over. */
export function passed(conduct: Conduct): Conduct {
  return conduct.refusedAtMs === 0 && conduct.strikes === 0
    ? conduct
    : { ...conduct, refusedAtMs: 0, strikes: 0, strikesEndMs: 0 };
}

/** The conduct with a ban of this length from now on, by hand: it counts for no level. */
export function banned(conduct: Conduct, banMs: number, nowMs: number): Conduct {
  return { ...passed(conduct), banEndMs: nowMs + banMs, banMs };
}
