import { LRUCache } from 'lru-cache';
import type { Conduct, Decision, KeyState } from '../limiter.js';
import type { Plan } from '../plan.js';
import { decide, type Ruling } from '../rule.js';

/** A refused key as the backend knows it. */
interface Denial {
  readonly plan: Plan;
  readonly state: KeyState;
  readonly sinceMs: number;
  /** When a bucket of another plan is full again, which the backend has to be told. */
  readonly othersFullAtMs: number;
  /** What to add to the local time for the backend's. */
  readonly aheadMs: number;
  /** Counted here, not yet reported. */
  strikes: number;
  isRefreshed: boolean;
}

/** How many strikes were counted here, and of which count. */
export interface Report {
  readonly strikes: number;
  readonly strikesEndMs: number;
  /** So many do not ban yet: only a request that the backend itself refuses does, and it is told so. */
  readonly most: number;
}

export const NOTHING_TO_REPORT: Report = { strikes: 0, strikesEndMs: 0, most: 0 };
const LIFE_MS = 1_000;
/** When the backend is asked again, in passing: others are answered from here meanwhile. */
const FRESH_MS = 900;
const MAX_KEYS = 10_000;

/**
 * Answers requests of a refused key by the rule, without the backend, for a second at most. Exactly as the backend
 * would: whatever would change more than the number of strikes is left to it, the ban above all. What is forgotten
 * for want of space costs a call, and the key a few strikes less.
 */
export function createDenials(localMs: () => number, marginMs: number) {
  const denials = new LRUCache<string, Denial>({ max: MAX_KEYS });

  return {
    answer(key: string, plan: Plan, cost: number, utcOffsetMs: number): Decision | undefined {
      const denial = denials.get(key);
      if (denial === undefined || denial.plan !== plan) return undefined;
      const nowMs = Math.floor(localMs() + denial.aheadMs);
      const ageMs = nowMs - denial.sinceMs;
      if (ageMs < 0 || ageMs >= LIFE_MS || nowMs >= denial.othersFullAtMs) return undefined;
      if (ageMs >= FRESH_MS && !denial.isRefreshed) {
        denial.isRefreshed = true;
        return undefined;
      }
      const state = withStrikes(denial.state, denial.strikes);
      const { decision, next } = decide(key, state, plan, cost, { nowMs, utcOffsetMs });
      // The backend's clock may be ahead of what is known of it by the time that an answer takes.
      if (decision.verdict === 'within_quota' || decision.retryAfterMs <= marginMs) return undefined;
      if (next?.buckets.length !== state.buckets.length) return undefined;
      const strikes = strikesAdded(state.conduct, next.conduct);
      if (strikes === undefined) return undefined;
      denial.strikes += strikes;
      return decision;
    },

    /** Takes note of what the backend has decided. */
    note(key: string, { decision, next }: Ruling, othersFullAtMs: number, aheadMs: number): void {
      if (decision.verdict === 'within_quota' || next === undefined) {
        denials.delete(key);
        return;
      }
      const before = denials.peek(key);
      const isSameCount =
        before?.plan === decision.plan && before.state.conduct?.strikesEndMs === next.conduct?.strikesEndMs;
      denials.set(key, {
        plan: decision.plan,
        state: next,
        sinceMs: decision.nowMs,
        othersFullAtMs,
        aheadMs,
        strikes: isSameCount ? before.strikes : 0,
        isRefreshed: false,
      });
    },

    /** What the backend does not know yet of a key. */
    unreported(key: string): Report {
      const denial = denials.peek(key);
      const conduct = denial?.state.conduct;
      if (!denial?.plan.ban || conduct === undefined) return NOTHING_TO_REPORT;
      return { strikes: denial.strikes, strikesEndMs: conduct.strikesEndMs, most: denial.plan.ban.after - 1 };
    },

    /** What is reported now, and so no longer remembered. */
    report(key: string): Report {
      const report = this.unreported(key);
      const denial = denials.peek(key);
      if (denial !== undefined) denial.strikes = 0;
      return report;
    },

    /** From now on the backend is asked, which still hears of the strikes. */
    doubt(key: string): void {
      const denial = denials.peek(key);
      if (denial !== undefined) denials.set(key, { ...denial, othersFullAtMs: 0 });
    },

    forget: (key: string) => denials.delete(key),
  };
}

export function withStrikes(state: KeyState, strikes: number): KeyState {
  const { buckets, conduct } = state;
  if (strikes === 0 || conduct === undefined) return state;
  return { buckets, conduct: { ...conduct, strikes: conduct.strikes + strikes } };
}

/** How many strikes more, if that is all the difference. */
function strikesAdded(before: Conduct | undefined, after: Conduct | undefined): number | undefined {
  if (before === undefined || after === undefined) return before === after ? 0 : undefined;
  const isOtherwiseSame =
    before.refusedAtMs === after.refusedAtMs &&
    before.strikesEndMs === after.strikesEndMs &&
    before.banEndMs === after.banEndMs &&
    before.banMs === after.banMs &&
    before.level === after.level &&
    before.forgetAtMs === after.forgetAtMs;
  return isOtherwiseSame ? after.strikes - before.strikes : undefined;
}
