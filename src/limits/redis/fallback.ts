import { LRUCache } from 'lru-cache';
import { NO_STRIKES, withBan } from '../ban.js';
import type { Decision } from '../limiter.js';
import type { StatefulLimiter } from '../memory/limiter.js';
import type { Plan } from '../plan.js';
import { decide } from '../rule.js';
import type { ServerDecision } from './calls.js';
import { createCircuitBreaker } from './circuit-breaker.js';
import type { SharedLimiter } from './shared-limiter.js';

/**
 * How requests with a key are decided. `shared`: the server decides for all processes. `local`: this
 * process applies the plan's quotas to the requests that it receives itself. `open`: no key is
 * counted, and none is refused, unless `ban` banned it here while the server failed. `closed`: no key
 * is decided, and its client receives a 503. In every mode, this process counts requests without a
 * valid key by their address.
 */
export type LimiterMode = 'shared' | 'local' | 'open' | 'closed';

export interface FallbackOptions {
  /** Decides while the server fails. It keeps its counts for the life of the process. */
  readonly local: StatefulLimiter;
  readonly onBackendError: LimiterMode;
  /** Milliseconds after which a call without a reply counts as failed. */
  readonly deadlineMs: number;
  readonly onMode: (mode: LimiterMode, error?: unknown) => void;
}

/** How many bans of the server are remembered. Only a key that was issued can be banned. */
const MAX_BANS = 10_000;

/**
 * Wraps the shared limiter, so that calls settle soon after the deadline, whatever the server does.
 * A request whose call fails is decided as `onBackendError` says. After three failures in a row,
 * all requests are decided in this way until the server works again. The other methods reject when
 * the server fails.
 */
export function withFallback(shared: SharedLimiter, options: FallbackOptions) {
  const { local, onBackendError, deadlineMs, onMode } = options;
  const { clock } = local;
  /**
   * The end of each ban that the server has reported, by the local clock, so that the ban holds
   * during an outage. Bans in `local` began in this process, and the server does not know of them.
   */
  const serverBans = new LRUCache<string, number>({ max: MAX_BANS });

  const breaker = createCircuitBreaker({
    deadlineMs,
    probe: shared.probe,
    onChange: (outage) => (outage === undefined ? onMode('shared') : onMode(onBackendError, outage.error)),
  });

  function decideLocally(method: 'take' | 'peek', key: string, plan: Plan, cost: number, error: unknown): Decision {
    if (onBackendError === 'closed') throw new Error('the request cannot be counted', { cause: error });
    if (onBackendError === 'open') return local.peek(key, plan, cost);
    const nowMs = clock.nowMs();
    const leftMs = (serverBans.get(key) ?? 0) - nowMs;
    if (leftMs <= 0 || isBannedLocally(key)) return local[method](key, plan, cost);
    const buckets = local.inspect(key)?.buckets ?? [];
    const state = { buckets, ban: withBan(NO_STRIKES, leftMs, nowMs) };
    return decide(key, state, plan, cost, { nowMs, utcOffsetMs: clock.utcOffsetMs(nowMs) }).decision;
  }

  /** Returns whether a ban that began in this process ends later than the ban of the server. */
  function isBannedLocally(key: string): boolean {
    const ban = local.inspect(key)?.ban;
    return ban !== undefined && ban.banEndMs > Math.max(clock.nowMs(), serverBans.get(key) ?? 0);
  }

  function noteBan({ decision, banEndMs }: ServerDecision): Decision {
    const { key, nowMs } = decision;
    if (banEndMs > 0) serverBans.set(key, clock.nowMs() + banEndMs - nowMs);
    else serverBans.delete(key);
    return decision;
  }

  return {
    decide(method: 'take' | 'peek', key: string, plan: Plan, cost: number): Decision | Promise<Decision> {
      const outage = breaker.outage();
      if (outage !== undefined) return decideLocally(method, key, plan, cost, outage.error);
      if (isBannedLocally(key)) return local.peek(key, plan, cost);
      const reply = shared[method](key, plan, cost);
      if (!(reply instanceof Promise)) return reply;
      return breaker.watch(key, reply).then(noteBan, (error) => decideLocally(method, key, plan, cost, error));
    },

    async reset(key: string): Promise<void> {
      serverBans.delete(key);
      local.reset(key);
      await breaker.watch(key, shared.reset(key));
    },

    async ban(key: string, ms: number): Promise<void> {
      try {
        await breaker.watch(key, shared.ban(key, ms));
        serverBans.set(key, clock.nowMs() + ms);
      } catch (error) {
        local.ban(key, ms);
        throw error;
      }
    },

    async unban(key: string): Promise<void> {
      serverBans.delete(key);
      local.unban(key);
      await breaker.watch(key, shared.unban(key));
    },

    mode: (): LimiterMode => (breaker.outage() === undefined ? 'shared' : onBackendError),
  };
}
