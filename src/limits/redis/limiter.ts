import { channel } from 'node:diagnostics_channel';
import { type Clock, createSystemClock } from '../clock.js';
import type { Decision, KeyState, RateLimiter } from '../limiter.js';
import { checkCost, createMemoryLimiter } from '../memory/limiter.js';
import { onlyFields, type Plan, snapshotPlan, wholeNumber } from '../plan.js';
import { createRedisCalls, type SendCommand } from './calls.js';
import { type OnBackendError, withLocalFallback } from './local-fallback.js';
import { withRefusalCache } from './refusal-cache.js';
import { createSharedLimiter } from './shared-limiter.js';

export type { OnBackendError, SendCommand };

/**
 * {@link RateLimiter} that counts keys in a Redis or Valkey server, shared by all processes. Each
 * request is one call of one script, but for a second after a refusal the key may be refused
 * without a call. Decides as the memory limiter does. `take` and `peek` reject only with
 * `onBackendError: 'closed'`. The other methods reject when the server fails.
 */
export interface RedisLimiter extends RateLimiter {
  /** Returns what `take` would decide now. Changes nothing. */
  peek(key: string, plan: Plan, cost?: number): Decision | Promise<Decision>;
  /**
   * Puts back what a decision took from windows that are still open. Call it at most once, with the
   * very decision that `take` returned, not a copy.
   */
  refund(decision: Decision): Promise<void>;
  /** Resolves to what is remembered of a key, or `undefined`. */
  inspect(key: string): Promise<KeyState | undefined>;
  /**
   * Forgets the key: its buckets are full again and it is not banned. Other processes may refuse it
   * for up to another second.
   */
  reset(key: string): Promise<void>;
  /**
   * Refuses the key for `ms` milliseconds from now, whatever its plan says about bans. If the
   * server fails, only this process enforces the ban until it can report the ban to the server.
   */
  ban(key: string, ms: number): Promise<void>;
  /**
   * Ends a ban and forgets earlier ones. Other processes may refuse the key for up to another
   * second.
   */
  unban(key: string): Promise<void>;
  /**
   * `shared` while the server decides for all processes. While it fails, the value of
   * `onBackendError`.
   */
  readonly mode: 'shared' | OnBackendError;
}

export interface RedisLimiterOptions {
  /**
   * Sends a command by any client, for example `(command) => ioredis.call(...command)` or
   * `(command) => redis.sendCommand(command)`.
   */
  readonly send: SendCommand;
  /** Prefix of the names of the limiter's keys in the server. Default: `store-orders:`. */
  readonly prefix?: string | undefined;
  /**
   * How to decide while the server fails. Default: `local`. Requests that are allowed meanwhile are
   * charged once the server works again.
   */
  readonly onBackendError?: OnBackendError | undefined;
  /**
   * Milliseconds that a decision may take at most, including one by `onBackendError`. Default: 100.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * How many addresses can have a bucket of their own at a time. Further addresses share one
   * bucket. Default: 100,000.
   */
  readonly maxAddresses?: number | undefined;
  /**
   * A clock for tests. Default: the server's clock, so that all hosts agree. With any other clock,
   * keys never expire in the server.
   */
  readonly clock?: Clock | undefined;
}

/**
 * Published on the `node:diagnostics_channel` named `store-orders:limiter` whenever a limiter's
 * mode changes.
 */
export interface LimiterModeMessage {
  readonly mode: RedisLimiter['mode'];
  readonly prefix: string;
  /** Why the server is no longer called. */
  readonly error?: unknown;
}

const OPTIONS = ['send', 'prefix', 'onBackendError', 'deadlineMs', 'maxAddresses', 'clock'];

const modes = channel('store-orders:limiter');

/**
 * Creates a rate limiter whose keys are counted in a Redis or Valkey server. Addresses (plans with
 * `partition: 'address'`) are counted in this process's memory, because strangers choose them and
 * could fill the server or keep it busy. Opens and closes no connection. Throws a TypeError or
 * RangeError that names the bad option.
 */
export function createRedisLimiter(options: RedisLimiterOptions): RedisLimiter {
  onlyFields('options', options, OPTIONS);
  const { send, prefix = 'store-orders:', onBackendError = 'local', deadlineMs = 100, maxAddresses, clock } = options;
  if (typeof send !== 'function') throw new TypeError('send: expected a function');
  if (typeof prefix !== 'string') throw new TypeError('prefix: expected a string');
  if (!['local', 'open', 'closed'].includes(onBackendError)) {
    throw new TypeError('onBackendError: expected "local", "open" or "closed"');
  }
  wholeNumber('deadlineMs', deadlineMs, 1, 60_000);
  // A tenth of the deadline is left for a late timer, and for the decision that is made without the
  // server.
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
      if (typeof key !== 'string') throw new TypeError('key: expected a string');
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
