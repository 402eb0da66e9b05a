import { type Decision, type KeyState, plainDecision } from '../limiter.js';
import type { MemoryLimiter } from '../memory/limiter.js';
import type { Plan } from '../plan.js';
import { createCircuitBreaker, rethrow } from './circuit-breaker.js';
import type { Ruled, SharedLimiter } from './shared-limiter.js';

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
export type LimiterMode = 'shared' | OnBackendError;

export interface FallbackOptions {
  /** Decides while the server fails. It keeps its counts for the life of the process. */
  readonly local: MemoryLimiter;
  readonly onBackendError: OnBackendError;
  /** Milliseconds after which a call without a reply counts as failed. */
  readonly deadlineMs: number;
  readonly onMode: (mode: LimiterMode, error?: unknown) => void;
}

/** A limiter whose calls settle soon after the deadline, whatever the server does. */
export interface LimiterWithFallback {
  take(key: string, plan: Plan, cost: number): Decision | Promise<Decision>;
  peek(key: string, plan: Plan, cost: number): Decision | Promise<Decision>;
  inspect(key: string): Promise<KeyState | undefined>;
  reset(key: string): Promise<void>;
  ban(key: string, ms: number): Promise<void>;
  unban(key: string): Promise<void>;
  readonly mode: LimiterMode;
}

/**
 * Wraps the shared limiter. A request whose call fails is decided as `onBackendError` says. After
 * three failures in a row every request is, until the server works again. The other methods reject
 * when the server fails.
 */
export function withFallback(shared: SharedLimiter, options: FallbackOptions): LimiterWithFallback {
  const { local, onBackendError, deadlineMs, onMode } = options;
  /** The key of the last failed call. In a cluster, its server is the one to probe. */
  let failedKey = '';
  /**
   * The end of each ban of the server that was copied into the local limiter, so that the ban holds
   * during an outage. Cleared when the server allows the key again.
   */
  const copiedBans = new Map<string, number>();
  /** The bans that began in this process. The server does not know of them, so they hold only here. */
  const ownBans = new Set<string>();

  const breaker = createCircuitBreaker({
    deadlineMs,
    probe: () => shared.probe(failedKey),
    onChange: (error) => (error === undefined ? onMode('shared') : onMode(onBackendError, error)),
  });

  function decideHere(method: 'take' | 'peek', key: string, plan: Plan, cost: number, error: unknown): Decision {
    failedKey = key;
    if (onBackendError === 'closed') throw new Error('the request cannot be counted', { cause: error });
    const decision = local[method](key, plan, cost);
    if (onBackendError === 'open') return { ...plainDecision(decision), allowed: true };
    if (decision.verdict === 'banned' && banEndOf(key) !== copiedBans.get(key)) ownBans.add(key);
    return decision;
  }

  function decide(method: 'take' | 'peek', key: string, plan: Plan, cost: number): Decision | Promise<Decision> {
    const failure = breaker.failure();
    if (failure !== undefined) return decideHere(method, key, plan, cost, failure.error);
    if (ownBans.has(key)) {
      const decision = local.peek(key, plan, cost);
      if (decision.verdict === 'banned') return decision;
      ownBans.delete(key);
    }
    const asked = shared[method](key, plan, cost);
    if (!(asked instanceof Promise)) return asked;
    return breaker.run(asked, copyBan, (error) => decideHere(method, key, plan, cost, error));
  }

  function copyBan({ decision, banEndMs }: Ruled): Decision {
    const { key, nowMs } = decision;
    if (banEndMs > 0) {
      local.ban(key, banEndMs - nowMs);
      copiedBans.set(key, banEndOf(key));
    } else if (copiedBans.delete(key) && !ownBans.has(key)) {
      local.unban(key);
    }
    return decision;
  }

  function banEndOf(key: string): number {
    return local.inspect(key)?.ban?.banEndMs ?? 0;
  }

  function forgetBan(key: string): void {
    ownBans.delete(key);
    copiedBans.delete(key);
  }

  /** Waits for a call that only the server can carry out. */
  const wait = <T>(asked: Promise<T>): Promise<T> => breaker.run(asked, (value) => value, rethrow);

  return {
    take: (key, plan, cost) => decide('take', key, plan, cost),
    peek: (key, plan, cost) => decide('peek', key, plan, cost),
    inspect: (key) => wait(shared.inspect(key)),

    async reset(key) {
      forgetBan(key);
      local.reset(key);
      await wait(shared.reset(key));
    },

    async ban(key, ms) {
      local.ban(key, ms);
      try {
        await wait(shared.ban(key, ms));
        copiedBans.set(key, banEndOf(key));
      } catch (error) {
        ownBans.add(key);
        throw error;
      }
    },

    async unban(key) {
      forgetBan(key);
      local.unban(key);
      await wait(shared.unban(key));
    },

    get mode() {
      return breaker.failure() === undefined ? 'shared' : onBackendError;
    },
  };
}
