import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.js';
import type { Decision } from '../limiter.js';
import type { Plan } from '../plan.js';
import { decisionOf, settleWindow } from '../rule.js';
import type { Answer } from './calls.js';

interface Refusal {
  readonly plan: Plan;
  readonly answer: Answer;
  /**
   * The server's clock is ahead of this process's clock by at least `aheadMs` and at most
   * `mostAheadMs`. Both are known from the round trip of the call.
   */
  readonly aheadMs: number;
  readonly mostAheadMs: number;
  /** From then on the next request asks the server. The others are still refused here. */
  askAtMs: number;
}

const MAX_KEYS = 10_000;

export type Refusals = ReturnType<typeof createRefusals>;

/**
 * Remembers for `forMs` which keys the server has refused, so that an abusive client cannot keep
 * the server busy.
 */
export function createRefusals(clock: Clock | undefined, forMs: number) {
  const refusals = new LRUCache<string, Refusal>({ max: MAX_KEYS });
  const localMs = clock === undefined ? () => performance.now() : () => clock.nowMs();

  return {
    localMs,

    /** Records the server's answer to a request that was sent at `sentMs`. */
    note(key: string, plan: Plan, answer: Answer, sentMs: number): void {
      if (answer.passes) {
        refusals.delete(key);
        return;
      }
      const receivedMs = localMs();
      const [aheadMs, mostAheadMs] =
        // The server reports its time in whole milliseconds, rounded down.
        clock === undefined ? [answer.nowMs - receivedMs, answer.nowMs + 1 - sentMs] : [0, 0];
      refusals.set(key, { plan, answer, aheadMs, mostAheadMs, askAtMs: receivedMs + forMs * 0.9 });
    },

    /**
     * Returns the decision if this process can refuse the request. Returns `undefined` if the
     * server must decide.
     */
    refuse(key: string, plan: Plan, cost: number): Decision | undefined {
      const refusal = refusals.get(key);
      if (refusal === undefined || (refusal.plan !== plan && !isDeepStrictEqual(refusal.plan, plan))) return undefined;
      const { answer, aheadMs, mostAheadMs, askAtMs } = refusal;
      const ms = localMs();
      const nowMs = Math.floor(ms + aheadMs);
      const ageMs = nowMs - answer.nowMs;
      if (ageMs < 0 || ageMs >= forMs) return undefined;
      if (ms >= askAtMs) {
        refusal.askAtMs = Number.POSITIVE_INFINITY;
        return undefined;
      }
      const instant = { nowMs, utcOffsetMs: answer.utcOffsetMs };
      const windows = plan.policies.map((policy, index) => settleWindow(answer.buckets[index], policy, cost, instant));
      const banEndMs = answer.banEndMs > nowMs ? answer.banEndMs : 0;
      if (banEndMs === 0 && windows.every(({ refuses }) => !refuses)) return undefined;
      const decision = decisionOf({ key, plan, cost }, windows, false, banEndMs, instant);
      // The server's time is known only to within a round trip, but the seconds of Retry-After must
      // be exact.
      const leastMs = nowMs + decision.retryAfterMs - Math.floor(ms + mostAheadMs);
      return secondsOf(leastMs) === secondsOf(decision.retryAfterMs) ? decision : undefined;
    },

    forget: (key: string) => refusals.delete(key),
  };
}

/** Returns the milliseconds as whole seconds, rounded up as in `Retry-After`. */
function secondsOf(ms: number): number {
  return Math.ceil(ms / 1_000);
}
