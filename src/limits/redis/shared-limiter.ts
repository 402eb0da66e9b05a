import type { Clock } from '../clock.js';
import type { BanState, Decision, KeyState, RateLimiter } from '../limiter.js';
import type { Plan } from '../plan.js';
import { decide } from '../rule.js';
import { holds } from '../token-bucket.js';
import type { RedisCalls, Seen } from './calls.js';
import type { Amount, Found, Report } from './codec.js';
import { PassedDecision } from './lazy-decision.js';

/** A limiter that counts keys in a server, for all processes together. */
export interface BackendLimiter extends RateLimiter {
  /** Returns what `take` would decide now. Changes nothing. */
  peek(key: string, plan: Plan, cost?: number): Decision | Promise<Decision>;
  /** Puts back what a decision took from windows that are still open. */
  refund(decision: Decision): Promise<void>;
  /**
   * Charges tokens that a process granted without the server. Resolves to the state that they were
   * added to.
   */
  charge(key: string, plan: Plan, amounts: readonly Amount[]): Promise<Found>;
  inspect(key: string): Promise<KeyState | undefined>;
  reset(key: string): Promise<void>;
  /** Bans the key by hand for `ms` milliseconds from now. */
  ban(key: string, ms: number): Promise<void>;
  /**
   * Reports a ban that began without the server. If the key is banned already, the later end and
   * the higher level apply.
   */
  carryBan(key: string, ban: BanState, nowMs: number): Promise<void>;
  unban(key: string): Promise<void>;
  /** Resolves if the server that stores this key works. */
  probe(key: string): Promise<void>;
}

/** The limiter that the script implements. It rejects when the server fails. */
export interface SharedLimiter extends BackendLimiter {
  /** Takes tokens. `report` holds refusals that the server does not know of. */
  take(key: string, plan: Plan, cost?: number, report?: Report): Promise<Decision>;
  peek(key: string, plan: Plan, cost?: number, report?: Report): Promise<Decision>;
}

/** The server's state of a key that it has refused. */
export interface Refusal {
  readonly state: KeyState;
  /**
   * When the first bucket of another plan is full again. From then on, the server has to be asked.
   */
  readonly othersFullAtMs: number;
  /**
   * The least and the most that the server's time can be ahead of the local time, known from the
   * round trip.
   */
  readonly aheadMs: number;
  readonly mostAheadMs: number;
}

const refusals = new WeakMap<Decision, Refusal>();

/** Returns what the server knows of the key, if the decision is a refusal by `take`. */
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
      if (!fits) throw new Error('the script let a request pass that the rule refuses');
      return new PassedDecision(key, plan, cost, utcOffsetMs, numbers);
    }
    const { decision, next } = decide(key, seen.state, plan, cost, seen);
    if (decision.verdict === 'within_quota') throw new Error('the script refused a request that the rule lets pass');
    if (sentMs !== undefined && next !== undefined) {
      const { nowMs, othersFullAtMs } = seen;
      const isLocal = clock !== undefined;
      refusals.set(decision, {
        state: next,
        othersFullAtMs,
        aheadMs: isLocal ? 0 : nowMs - performance.now(),
        // The server's clock may be up to a millisecond ahead of the instant that it reported.
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
