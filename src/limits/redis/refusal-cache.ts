import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.js';
import type { BanState, Decision, KeyState } from '../limiter.js';
import type { Plan } from '../plan.js';
import { decide } from '../rule.js';
import { planArgument, type Report } from './codec.js';
import { type BackendLimiter, type Refusal, refusalOf, type SharedLimiter } from './shared-limiter.js';

/** A key that the server has refused, and the refusals of the key in this process since then. */
interface Entry {
  readonly plan: Plan;
  readonly refusal: Refusal;
  /** When the server refused the key, by the server's clock. */
  readonly sinceMs: number;
  /** How many refusals were forgiven here and are still to be reported to the server. */
  forgiven: number;
  strikesAtMs: readonly number[];
  /**
   * How many refusals by this process count towards a ban, but are not included in the server's
   * last reply about this key. A call in flight may be reporting some of them.
   */
  strikes: number;
  isRefreshed: boolean;
}

const LIFE_MS = 1_000;
/**
 * When an entry is this old, one request asks the server again. Until the server replies, the cache
 * still answers other requests.
 */
const FRESH_MS = 900;
const MAX_KEYS = 10_000;
/**
 * A process reports its refusals when they reach a tenth of the number that bans a key. Even if ten
 * processes each hold back a tenth, the key is banned after at most twice that number.
 */
const PARTS = 10;

/**
 * Wraps a limiter so that this process can refuse a key alone for up to a second after the server
 * has refused the key. The next call for the key reports these refusals to the server.
 *
 * The server is still asked if a decision would do more than add a refusal, for example start a
 * ban. It is also asked if the wait in whole seconds is uncertain, because this process knows the
 * server's clock only to within a round trip. When the cache evicts a key, a few refusals are never
 * reported, and the next request of the key asks the server.
 */
export function withRefusalCache(shared: SharedLimiter, clock: Clock | undefined): BackendLimiter {
  const entries = new LRUCache<string, Entry>({ max: MAX_KEYS });
  const localMs = clock === undefined ? () => performance.now() : () => clock.nowMs();

  function ask(key: string, plan: Plan, cost: number): Promise<Decision> {
    const entry = entries.peek(key);
    const report = entry && reportOf(entry);
    if (entry !== undefined) {
      entry.forgiven = 0;
      entry.strikesAtMs = [];
    }
    return shared.take(key, plan, cost, report).then(note);
  }

  function note(decision: Decision): Decision {
    const { key, plan, nowMs } = decision;
    const refusal = refusalOf(decision);
    if (refusal === undefined) {
      entries.delete(key);
      return decision;
    }
    const before = entries.peek(key);
    const isSameStreak = before?.refusal.state.ban?.refusedAtMs === refusal.state.ban?.refusedAtMs;
    const { forgiven = 0, strikesAtMs = [] } = (isSameStreak && before) || {};
    const strikes = strikesAtMs.length;
    entries.set(key, { plan, refusal, sinceMs: nowMs, forgiven, strikesAtMs, strikes, isRefreshed: false });
    return decision;
  }

  /**
   * Decides without asking the server. The server's time is not known exactly: it lies between
   * `nowMs` and `latestMs`. Returns `undefined` if the server has to be asked.
   */
  function decideHere(
    entry: Entry,
    key: string,
    plan: Plan,
    cost: number,
    nowMs: number,
    latestMs: number,
  ): Decision | undefined {
    const state = withReport(entry.refusal.state, reportOf(entry));
    const { decision, next } = decide(key, state, plan, cost, { nowMs, utcOffsetMs: clock?.utcOffsetMs() ?? 0 });
    if (decision.verdict === 'within_quota' || next?.buckets.length !== state.buckets.length) return undefined;
    if (!isStreakLonger(state.ban, next.ban)) return undefined;
    const retryAtMs = nowMs + decision.retryAfterMs;
    if (secondsOf(retryAtMs - nowMs) !== secondsOf(retryAtMs - latestMs)) return undefined;
    if ((next.ban?.strikesAtMs.length ?? 0) > (state.ban?.strikesAtMs.length ?? 0)) {
      if (plan.ban && entry.strikes >= Math.floor(plan.ban.after / PARTS)) return undefined;
      entry.strikes++;
      entry.strikesAtMs = [...entry.strikesAtMs, nowMs];
    }
    entry.forgiven += (next.ban?.forgiven ?? 0) - (state.ban?.forgiven ?? 0);
    return decision;
  }

  function take(key: string, plan: Plan, cost = 1): Decision | Promise<Decision> {
    const entry = entries.get(key);
    if (entry === undefined || !isSamePlan(entry.plan, plan)) return ask(key, plan, cost);
    const { aheadMs, mostAheadMs, othersFullAtMs } = entry.refusal;
    const ms = localMs();
    const nowMs = Math.floor(ms + aheadMs);
    const latestMs = Math.floor(ms + mostAheadMs);
    const ageMs = nowMs - entry.sinceMs;
    if (ageMs < 0 || ageMs >= LIFE_MS || latestMs >= othersFullAtMs) return ask(key, plan, cost);
    if (ageMs >= FRESH_MS && !entry.isRefreshed) {
      entry.isRefreshed = true;
      return ask(key, plan, cost);
    }
    return decideHere(entry, key, plan, cost, nowMs, latestMs) ?? ask(key, plan, cost);
  }

  function unreported(key: string): Report | undefined {
    const entry = entries.peek(key);
    return entry && reportOf(entry);
  }

  /**
   * Makes the next request of the key ask the server. Keeps the refusals that are still to be
   * reported.
   */
  function doubt(key: string): void {
    const entry = entries.peek(key);
    if (entry !== undefined) entries.set(key, { ...entry, refusal: { ...entry.refusal, othersFullAtMs: 0 } });
  }

  return {
    take,
    peek: (key, plan, cost) => shared.peek(key, plan, cost, unreported(key)),
    refund(decision) {
      doubt(decision.key);
      return shared.refund(decision);
    },
    charge(key, plan, amounts) {
      doubt(key);
      return shared.charge(key, plan, amounts);
    },
    async inspect(key) {
      const report = unreported(key);
      const state = await shared.inspect(key);
      return state && withReport(state, report);
    },
    reset(key) {
      entries.delete(key);
      return shared.reset(key);
    },
    ban(key, ms) {
      entries.delete(key);
      return shared.ban(key, ms);
    },
    carryBan(key, ban, nowMs) {
      entries.delete(key);
      return shared.carryBan(key, ban, nowMs);
    },
    unban(key) {
      entries.delete(key);
      return shared.unban(key);
    },
    probe: shared.probe,
  };
}

function isSamePlan(a: Plan, b: Plan): boolean {
  return a === b || planArgument(a) === planArgument(b);
}

function reportOf({ refusal, forgiven, strikesAtMs }: Entry): Report | undefined {
  const { ban } = refusal.state;
  if (ban === undefined || (forgiven === 0 && strikesAtMs.length === 0)) return undefined;
  return { refusedAtMs: ban.refusedAtMs, forgiven, strikesAtMs };
}

function withReport(state: KeyState, report: Report | undefined): KeyState {
  const { buckets, ban } = state;
  if (report === undefined || ban?.refusedAtMs !== report.refusedAtMs) return state;
  const strikesAtMs = [...ban.strikesAtMs, ...report.strikesAtMs].sort((a, b) => a - b);
  return { buckets, ban: { ...ban, forgiven: ban.forgiven + report.forgiven, strikesAtMs } };
}

/** Reports whether `after` is `before` with nothing but further refusals added. */
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

/** Returns the milliseconds as whole seconds, rounded up as in `Retry-After`. */
function secondsOf(ms: number): number {
  return Math.ceil(ms / 1_000);
}
