import { LRUCache } from 'lru-cache';
import type { Decision } from '../limiter.js';
import type { Plan } from '../plan.js';
import type { RedisCalls, ServerDecision } from './calls.js';

/** A refusal of the server. The times are those of the call and its reply by this process's clock. */
interface Refusal {
  readonly decision: Decision;
  readonly sentMs: number;
  readonly receivedMs: number;
}

const MAX_REFUSALS = 10_000;

export type SharedLimiter = ReturnType<typeof createSharedLimiter>;

/**
 * Creates a limiter that asks the server for each decision. For `refusalCacheMs` after the server
 * has refused a key, the limiter refuses the same request by itself, so that an abusive client
 * cannot keep the server busy. The server never learns of such a refusal, so it does not count
 * towards a ban. All methods reject when the server fails.
 */
export function createSharedLimiter(calls: RedisCalls, localMs: () => number, refusalCacheMs: number) {
  const refusals = new LRUCache<string, Refusal>({ max: MAX_REFUSALS });

  function cachedRefusal(key: string, plan: Plan, cost: number): Decision | undefined {
    const refusal = refusals.get(key);
    if (refusal === undefined) return undefined;
    const { decision, sentMs, receivedMs } = refusal;
    const nowMs = localMs();
    const ageMs = Math.floor(nowMs - receivedMs);
    // The server decided at some instant from `sentMs` to `receivedMs`. So the refusal may end a
    // round trip early, and its `retryAfterMs` may be a round trip too long, but never too short.
    const isCurrent = ageMs >= 0 && ageMs < refusalCacheMs && nowMs - sentMs < decision.retryAfterMs;
    if (!isCurrent || decision.plan !== plan || decision.cost !== cost) return undefined;
    return { ...decision, nowMs: decision.nowMs + ageMs, retryAfterMs: decision.retryAfterMs - ageMs };
  }

  function askServer(key: string, plan: Plan, cost: number): Promise<ServerDecision> {
    const sentMs = localMs();
    return calls.decide('take', key, plan, cost).then((decided) => {
      const { decision } = decided;
      if (!decision.allowed) refusals.set(key, { decision, sentMs, receivedMs: localMs() });
      return decided;
    });
  }

  /**
   * Forgets the refusal of a key after `call`, so that the next request asks the server. If it were
   * forgotten before, a reply that arrives during the call could bring it back.
   */
  const forgetRefusalAfter = (key: string, call: Promise<unknown>) => call.finally(() => refusals.delete(key));

  return {
    take: (key: string, plan: Plan, cost: number): Decision | Promise<ServerDecision> =>
      cachedRefusal(key, plan, cost) ?? askServer(key, plan, cost),
    peek: (key: string, plan: Plan, cost: number): Promise<ServerDecision> => calls.decide('peek', key, plan, cost),
    reset: (key: string) => forgetRefusalAfter(key, calls.reset(key)),
    ban: (key: string, ms: number) => forgetRefusalAfter(key, calls.ban(key, ms)),
    unban: (key: string) => forgetRefusalAfter(key, calls.unban(key)),
    probe: calls.probe,
  };
}
