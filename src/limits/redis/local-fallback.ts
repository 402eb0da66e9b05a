import type { Clock } from '../clock.js';
import { type Decision, plainDecision } from '../limiter.js';
import type { MemoryLimiter } from '../memory/limiter.js';
import type { Plan } from '../plan.js';
import { createCircuitBreaker } from './circuit-breaker.js';
import { createLedger } from './ledger.js';
import { type BackendLimiter, refusalOf } from './shared-limiter.js';

/**
 * How to decide while the server fails. `local`: this process applies the plan's quotas to the
 * requests that it receives itself. `open`: this process counts its own requests but refuses none.
 * `closed`: no request is decided, and clients receive a 503.
 */
export type OnBackendError = 'local' | 'open' | 'closed';

/**
 * Is `shared` while the server decides for all processes. While the server fails, this is the value
 * of `onBackendError`.
 */
type Mode = 'shared' | OnBackendError;

export interface LocalFallbackOptions {
  readonly local: MemoryLimiter;
  /** The clock of the local limiter. */
  readonly clock: Clock;
  readonly onBackendError: OnBackendError;
  /** Milliseconds after which a call without a reply counts as failed. */
  readonly patienceMs: number;
  readonly onMode: (mode: Mode, error?: unknown) => void;
}

/**
 * A limiter whose methods settle within `patienceMs`. While the server fails, `take` and `peek`
 * follow `onBackendError`. All other methods that need the server reject.
 */
export interface LimiterWithFallback extends Omit<BackendLimiter, 'charge' | 'carryBan' | 'probe'> {
  readonly mode: Mode;
}

/**
 * Wraps a limiter so that this process decides while the server fails. When the server works again,
 * this process reports to it the tokens that were granted here and the bans that began here. This
 * process also keeps its own counts. A second outage in the same window therefore does not
 * grant the quota again.
 */
export function withLocalFallback(server: BackendLimiter, options: LocalFallbackOptions): LimiterWithFallback {
  const { local, clock, onBackendError, patienceMs, onMode } = options;
  /**
   * The key of the call that failed first. In a cluster, the server that has this key is the one to
   * probe.
   */
  let failedKey: string | undefined;

  const breaker = createCircuitBreaker({
    patienceMs,
    probe: () => server.probe(failedKey ?? ''),
    onChange(error) {
      if (error !== undefined) {
        ledger.begin();
        onMode(onBackendError, error);
        return;
      }
      onMode('shared');
      failedKey = undefined;
      void ledger.settleAll();
    },
  });
  const ledger = createLedger(server, local, clock, (asked) => breaker.run(asked));

  function decideHere(method: 'take' | 'peek', key: string, plan: Plan, cost: number, error: unknown): Decision {
    failedKey ??= key;
    if (onBackendError === 'closed') throw new Error('the request cannot be counted', { cause: error });
    const made = local[method](key, plan, cost);
    const decision = onBackendError === 'open' ? { ...plainDecision(made), allowed: true } : made;
    if (method === 'take') ledger.note(decision);
    return decision;
  }

  /**
   * Copies a ban from the server's decision into the local limiter. If the server does not ban the
   * key, ends a ban of the key in the local limiter.
   */
  function heed(decision: Decision): Decision {
    const { key, verdict, nowMs } = decision;
    const known = local.inspect(key);
    const ban = verdict === 'banned' ? refusalOf(decision)?.state.ban : undefined;
    if (ban !== undefined) {
      const behindMs = clock.nowMs() - nowMs;
      local.restore(key, {
        buckets: known?.buckets ?? [],
        ban: { ...ban, banEndMs: ban.banEndMs + behindMs, forgetAtMs: ban.forgetAtMs + behindMs },
      });
    } else if (known?.ban !== undefined && known.ban.banEndMs > clock.nowMs() && !ledger.owes(key)) {
      local.unban(key);
    }
    return decision;
  }

  async function refund(decision: Decision): Promise<void> {
    if (decision.verdict !== 'within_quota') return;
    const charged = await ledger.refund(decision);
    if (charged !== undefined) await breaker.run(server.refund(charged));
  }

  return {
    take(key, plan, cost = 1) {
      const failure = breaker.failure();
      if (failure !== undefined) return decideHere('take', key, plan, cost, failure.error);
      if (ledger.owes(key)) void ledger.settle(key);
      const asked = server.take(key, plan, cost);
      if (!(asked instanceof Promise)) return asked;
      return breaker.run(asked, heed, (error) => {
        const decision = decideHere('take', key, plan, cost, error);
        // If a late reply shows that the server has charged the request too, puts back what this
        // process charged for it.
        asked.then((late) => (late.verdict === 'within_quota' ? refund(decision) : undefined)).catch(() => {});
        return decision;
      });
    },

    peek(key, plan, cost = 1) {
      const failure = breaker.failure();
      if (failure !== undefined) return decideHere('peek', key, plan, cost, failure.error);
      const asked = Promise.resolve(server.peek(key, plan, cost));
      return breaker.run(asked, undefined, (error) => decideHere('peek', key, plan, cost, error));
    },

    refund,
    inspect: (key) => breaker.run(server.inspect(key)),

    async reset(key) {
      ledger.forget(key);
      local.reset(key);
      await breaker.run(server.reset(key));
    },

    async ban(key, ms) {
      try {
        await breaker.run(server.ban(key, ms));
      } catch (error) {
        ledger.noteBan(key);
        throw error;
      } finally {
        local.ban(key, ms);
      }
    },

    async unban(key) {
      ledger.forgetBan(key);
      local.unban(key);
      await breaker.run(server.unban(key));
    },

    get mode() {
      return breaker.failure() === undefined ? 'shared' : onBackendError;
    },
  };
}
