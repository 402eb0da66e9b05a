import { LRUCache } from 'lru-cache';
import type { BanState, Decision, KeyState } from '../limiter.js';
import type { Plan } from '../plan.js';
import { decide, type Ruling } from '../rule.js';
import type { Report } from './codec.js';

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
  forgiven: number;
  strikesAtMs: readonly number[];
  isRefreshed: boolean;
}

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
      const state = withReport(denial.state, reportOf(denial));
      const { decision, next } = decide(key, state, plan, cost, { nowMs, utcOffsetMs });
      // The backend's clock may be ahead of what is known of it by the time that an answer takes.
      if (decision.verdict === 'within_quota' || decision.retryAfterMs <= marginMs) return undefined;
      if (next?.buckets.length !== state.buckets.length) return undefined;
      if (!isStreakLonger(state.ban, next.ban)) return undefined;
      denial.forgiven += (next.ban?.forgiven ?? 0) - (state.ban?.forgiven ?? 0);
      const added = (next.ban?.strikesAtMs.length ?? 0) - (state.ban?.strikesAtMs.length ?? 0);
      if (added > 0) denial.strikesAtMs = [...denial.strikesAtMs, nowMs];
      return decision;
    },

    /** Takes note of what the backend has decided. */
    note(key: string, { decision, next }: Ruling, othersFullAtMs: number, aheadMs: number): void {
      if (decision.verdict === 'within_quota' || next === undefined) {
        denials.delete(key);
        return;
      }
      const before = denials.peek(key);
      const isSameStreak = before?.plan === decision.plan && before.state.ban?.refusedAtMs === next.ban?.refusedAtMs;
      denials.set(key, {
        plan: decision.plan,
        state: next,
        sinceMs: decision.nowMs,
        othersFullAtMs,
        aheadMs,
        forgiven: isSameStreak ? before.forgiven : 0,
        strikesAtMs: isSameStreak ? before.strikesAtMs : [],
        isRefreshed: false,
      });
    },

    /** What the backend does not know yet of a key. */
    unreported(key: string): Report | undefined {
      const denial = denials.peek(key);
      return denial && reportOf(denial);
    },

    /** What is reported now, and so no longer remembered. */
    report(key: string): Report | undefined {
      const denial = denials.peek(key);
      if (denial === undefined) return undefined;
      const report = reportOf(denial);
      denial.forgiven = 0;
      denial.strikesAtMs = [];
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

function reportOf({ state, forgiven, strikesAtMs }: Denial): Report | undefined {
  if (state.ban === undefined || (forgiven === 0 && strikesAtMs.length === 0)) return undefined;
  return { refusedAtMs: state.ban.refusedAtMs, forgiven, strikesAtMs };
}

export function withReport(state: KeyState, report: Report | undefined): KeyState {
  const { buckets, ban } = state;
  if (report === undefined || ban?.refusedAtMs !== report.refusedAtMs) return state;
  const strikesAtMs = [...ban.strikesAtMs, ...report.strikesAtMs];
  return { buckets, ban: { ...ban, forgiven: ban.forgiven + report.forgiven, strikesAtMs } };
}

/** Whether nothing is different but what the streak has more. */
function isStreakLonger(before: BanState | undefined, after: BanState | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return (
    before.refusedAtMs === after.refusedAtMs &&
    before.strikesAtMs.every((atMs, index) => atMs === after.strikesAtMs[index]) &&
    before.banEndMs === after.banEndMs &&
    before.banMs === after.banMs &&
    before.level === after.level &&
    before.forgetAtMs === after.forgetAtMs
  );
}
