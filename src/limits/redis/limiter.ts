import { channel } from 'node:diagnostics_channel';
import { type Clock, createSystemClock } from '../clock.js';
import type { Decision, KeyState, RateLimiter } from '../limiter.js';
import { checkCost, createMemoryLimiter } from '../memory/limiter.js';
import { type Plan, snapshotPlan, wholeNumber } from '../plan.js';
import { createRedisCalls, type SendCommand } from './calls.js';
import { type OnBackendError, withLocalFallback } from './local-fallback.js';
import { withRefusalCache } from './refusal-cache.js';
import { createSharedLimiter } from './shared-limiter.js';

export type { OnBackendError, SendCommand };

/**
 * {@link RateLimiter} whose keys are counted in a Redis or Valkey server, together for all processes: each request is
 * one call of one script. Decides as the memory limiter does. `take` and `peek` reject only with `onBackendError:
 * 'closed'`; the others reject when the server fails.
 */
export interface RedisLimiter extends RateLimiter {
  /** What `take` would answer now; nothing is changed. */
  peek(key: string, plan: Plan, cost?: number): Decision | Promise<Decision>;
  /**
   * Puts back what a decision took, as far as its windows are still open. Call it at most once, with
   * the decision that `take` returned and no copy of it.
   */
  refund(decision: Decision): Promise<void>;
  /** What is remembered of a key, `undefined` for nothing. */
  inspect(key: string): Promise<KeyState | undefined>;
  /** Forgets the key: full buckets, no ban. Other processes may refuse it for a second more. */
  reset(key: string): Promise<void>;
  /**
   * Refuses the key for `ms` milliseconds from now, whatever its plan says of bans. If the server
   * fails, this process holds the ban alone and tells the server later.
   */
  ban(key: string, ms: number): Promise<void>;
  /** Ends a ban, and forgets the ones before. Other processes may refuse the key for a second more. */
  unban(key: string): Promise<void>;
  /** Who decides now: the server for all processes, or while it fails what `onBackendError` says. */
  readonly mode: 'shared' | OnBackendError;
}

export interface RedisLimiterOptions {
  /** Any client, for example `(command) => ioredis.call(...command)` or `(command) => redis.sendCommand(command)`. */
  readonly send: SendCommand;
  /** What the names of its keys in the server begin with. Default: `store-orders:`. */
  readonly prefix?: string | undefined;
  /** Default: `local`. What it admits is charged when the server works again. */
  readonly onBackendError?: OnBackendError | undefined;
  /** The longest that a decision may take, that of `onBackendError` included, in milliseconds. Default: 100. */
  readonly deadlineMs?: number | undefined;
  /** Most addresses with a bucket of their own at a time; further ones share one. Default: 100,000. */
  readonly maxAddresses?: number | undefined;
  /** For tests. Default: the server's, so that hosts agree. With a clock that the server does not know, nothing ever expires there. */
  readonly clock?: Clock | undefined;
}

/** Published on the `node:diagnostics_channel` named `store-orders:limiter` whenever the mode of a limiter changes. */
export interface LimiterModeMessage {
  readonly mode: RedisLimiter['mode'];
  readonly prefix: string;
  /** Why the server is not asked any longer. */
  readonly error?: unknown;
}

const modes = channel('store-orders:limiter');

/**
 * Addresses (plans of the partition `address`) stay in this process's memory: strangers choose them, and would fill the
 * server or keep it busy. Opens and closes nothing. Throws a TypeError or RangeError that names the option.
 */
export function createRedisLimiter(options: RedisLimiterOptions): RedisLimiter {
  const { send, prefix = 'store-orders:', onBackendError = 'local', deadlineMs = 100, maxAddresses, clock } = options;
  if (typeof send !== 'function') throw new TypeError('send: expected a function');
  if (typeof prefix !== 'string') throw new TypeError('prefix: expected a text');
  if (!['local', 'open', 'closed'].includes(onBackendError)) {
    throw new TypeError('onBackendError: expected local or open or closed');
  }
  wholeNumber('deadlineMs', deadlineMs, 1, 60_000);
  // A tenth is left for the timer to be late and for the decision that is made instead.
  const patienceMs = Math.ceil(deadlineMs * 0.9);
  const localClock = clock ?? createSystemClock();
  const local = createMemoryLimiter({ clock: localClock, maxAddresses });
  const shared = createSharedLimiter(createRedisCalls(send, prefix, clock, patienceMs), clock);
  const limiter = withLocalFallback(withRefusalCache(shared, clock), {
    local,
    clock: localClock,
    onBackendError,
    patienceMs,
    onMode(mode, error) {
      modes.publish({ mode, prefix, ...(error !== undefined && { error }) } satisfies LimiterModeMessage);
    },
  });

  return {
    take(key, plan, cost = 1) {
      checkCost(cost, plan);
      if (plan.partition === 'address') return local.take(key, plan, cost);
      return limiter.take(key, snapshotPlan(plan), cost);
    },
    peek(key, plan, cost = 1) {
      checkCost(cost, plan);
      if (plan.partition === 'address') return local.peek(key, plan, cost);
      return limiter.peek(key, snapshotPlan(plan), cost);
    },
    async refund(decision) {
      if (decision.plan.partition === 'address') local.refund(decision);
      else await limiter.refund(decision);
    },
    async ban(key, ms) {
      wholeNumber('ms', ms, 1);
      await limiter.ban(key, ms);
    },
    inspect: limiter.inspect,
    reset: limiter.reset,
    unban: limiter.unban,
    get mode() {
      return limiter.mode;
    },
  };
}
