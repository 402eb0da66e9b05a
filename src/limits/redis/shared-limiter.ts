import type { Clock } from '../clock.js';
import type { BanState, Decision, KeyState, RateLimiter } from '../limiter.js';
import type { Plan } from '../plan.js';
import { decide } from '../rule.js';
import { holds } from '../token-bucket.js';
import type { RedisCalls, Seen } from './calls.js';
import type { Amount, Found, Report } from './codec.js';
import { PassedDecision } from './lazy-decision.js';

/** A limiter that keeps the counts of all keys in a server, which many processes share. */
export interface BackendLimiter extends RateLimiter {
  /** Returns what `take` would decide now. Changes nothing. */
  peek(key: string, plan: Plan, cost?: number): Decision | Promise<Decision>;
  /** Puts back the tokens that a decision took from windows that have not ended. */
  refund(decision: Decision): Promise<void>;
  /**
   * Charges a key for the tokens that a process granted without the server. Resolves to the state
   * of the key before the charge.
   */
  charge(key: string, plan: Plan, amounts: readonly Amount[]): Promise<Found>;
  inspect(key: string): Promise<KeyState | undefined>;
  reset(key: string): Promise<void>;
  /** Bans the key by hand for `ms` milliseconds from now. */
  ban(key: string, ms: number): Promise<void>;
  /**
   * Tells the server of a ban that began in this process. If the server has banned the key already,
   * the later of the two ends applies, and the higher of the two levels.
   */
  carryBan(key: string, ban: BanState, nowMs: number): Promise<void>;
  unban(key: string): Promise<void>;
  /** Resolves if the server that stores this key can write. */
  probe(key: string): Promise<void>;
}

/** The limiter that the script implements. It rejects when the server fails. */
export interface SharedLimiter extends BackendLimiter {
  /** Takes tokens, and reports refusals that the server does not know of. */
  take(key: string, plan: Plan, cost?: number, report?: Report): Promise<Decision>;
  peek(key: string, plan: Plan, cost?: number, report?: Report): Promise<Decision>;
}

/** The facts that this process knows about a key that the server has refused. */
export interface Refusal {
  readonly state: KeyState;
  /**
   * The time when the first of the key's buckets of other plans is full again, or `Infinity` if
   * there are none. From then on the server has to be asked, because its next decision removes that
   * bucket.
   */
  readonly othersFullAtMs: number;
  /**
   * The server's clock is ahead of this process's clock by at least `aheadMs` and at most
   * `mostAheadMs`. Both are known from the round trip of the call.
   */
  readonly aheadMs: number;
  readonly mostAheadMs: number;
}

const refusals = new WeakMap<Decision, Refusal>();

/** Returns what the server knew of the key if `take` refused the request, otherwise `undefined`. */
export function refusalOf(decision: Decision): Refusal | undefined {
  return refusals.get(decision);
}

export function createSharedLimiter(calls: RedisCalls, clock: Clock | undefined): SharedLimiter {
  const { call, inspect, reset, probe } = calls;

  function decisionOf(key: string, plan: Plan, cost: number, seen: Seen, sentMs?: number): Decision {
    if ('numbers' in seen) {
      const { numbers, utcOffsetMs } = seen;
      const fits = plan.policies.every((policy, index) =>
        holds({ taken: numbers[2 * index + 1] ?? Number.NaN, atMs: 0 }, policy, 0),
      );
      if (!fits) throw new Error('the script allowed a request that must be refused');
      return new PassedDecision(key, plan, cost, utcOffsetMs, numbers);
    }
    const { decision, next } = decide(key, seen.state, plan, cost, seen);
    if (decision.verdict === 'within_quota') throw new Error('the script refused a request that the plan allows');
    if (sentMs !== undefined && next !== undefined) {
      const { nowMs, othersFullAtMs } = seen;
      const isLocal = clock !== undefined;
      refusals.set(decision, {
        state: next,
        othersFullAtMs,
        aheadMs: isLocal ? 0 : nowMs - performance.now(),
        // The server reports its time in whole milliseconds, rounded down. Its clock may be up to a
        // millisecond ahead of that.
        mostAheadMs: isLocal ? 0 : nowMs + 1 - sentMs,
      });
    }
    return decision;
  }

  return {
    take: (key, plan, cost = 1, report) =>
      call('take', key, plan, { cost, report }, (seen, sentMs) => decisionOf(key, plan, cost, seen, sentMs)),

    peek: (key, plan, cost = 1, report) =>
      call('peek', key, plan, { cost, report }, (seen) => decisionOf(key, plan, cost, seen)),

    refund: ({ key, plan, cost, windows }) =>
      call('refund', key, plan, { amounts: windows.map(({ resetAtMs }) => [cost, resetAtMs]) }, () => {}),

    charge: (key, plan, amounts) =>
      call('charge', key, plan, { amounts }, (seen) => {
        if ('state' in seen) return seen;
        throw new TypeError("send: returned something other than the script's reply");
      }),

    ban: (key, ms) => call('ban', key, undefined, { cost: ms }, () => {}),

    carryBan(key, { banEndMs, banMs, level, forgetAtMs }, nowMs) {
      const amounts: readonly Amount[] = [
        [banMs, level],
        [forgetAtMs - nowMs, 0],
      ];
      return call('carry_ban', key, undefined, { cost: banEndMs - nowMs, amounts }, () => {});
    },

    unban: (key) => call('unban', key, undefined, {}, () => {}),
    inspect,
    reset,
    probe,
  };
}
