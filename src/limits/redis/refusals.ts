import { LRUCache } from 'lru-cache';
import type { Decision } from '../limiter.js';
import type { Plan } from '../plan.js';
import type { ServerDecision } from './calls.js';

/** What the server has last said about a key that it refuses. The times are of this process's clock. */
interface Refusal {
  /** The refusal, or `undefined` if `ban` was called. */
  readonly decision: Decision | undefined;
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly banEndMs: number;
}

/** How many keys are remembered. Only a key that was issued can be refused here. */
const MAX_REFUSALS = 10_000;

/**
 * Remembers the keys that the server has refused: the refusal, to repeat it for `repeatForMs`, so
 * that an abusive client cannot keep the server busy; and the ban, so that it holds in an outage.
 */
export function createRefusals(localMs: () => number, repeatForMs: number) {
  const refusals = new LRUCache<string, Refusal>({ max: MAX_REFUSALS });

  const banLeftMs = (key: string) => Math.max(0, Math.ceil((refusals.get(key)?.banEndMs ?? 0) - localMs()));

  return {
    /**
     * Returns the server's last refusal of the same request, with the present times, or `undefined`
     * if it is too old. The server does not learn of it, so it does not count towards a ban.
     */
    repeat(key: string, plan: Plan, cost: number): Decision | undefined {
      const refusal = refusals.get(key);
      if (refusal?.decision === undefined) return undefined;
      const { decision, sentMs, receivedMs } = refusal;
      const nowMs = localMs();
      const ageMs = Math.floor(nowMs - receivedMs);
      // The server decided at some instant from `sentMs` to `receivedMs`. So the refusal may end a
      // round trip early, and its `retryAfterMs` may be a round trip too long, but never too short.
      const isCurrent = ageMs >= 0 && ageMs < repeatForMs && nowMs - sentMs < decision.retryAfterMs;
      if (!isCurrent || decision.plan !== plan || decision.cost !== cost) return undefined;
      return { ...decision, nowMs: decision.nowMs + ageMs, retryAfterMs: decision.retryAfterMs - ageMs };
    },

    /** Remembers a decision of the server. `sentMs` is when it was asked. */
    note({ decision, banEndMs }: ServerDecision, sentMs: number): void {
      const { key, allowed, nowMs } = decision;
      if (allowed) {
        if (banLeftMs(key) > 0) refusals.delete(key);
        return;
      }
      const receivedMs = localMs();
      refusals.set(key, { decision, sentMs, receivedMs, banEndMs: banEndMs && receivedMs + banEndMs - nowMs });
    },

    /** Remembers a ban that the server has stored. */
    noteBan(key: string, ms: number): void {
      const nowMs = localMs();
      refusals.set(key, { decision: undefined, sentMs: nowMs, receivedMs: nowMs, banEndMs: nowMs + ms });
    },

    /** Returns the rest of the server's ban of the key, or 0. */
    banLeftMs,

    forget: (key: string): unknown => refusals.delete(key),
  };
}
