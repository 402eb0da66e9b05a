import { channel } from 'node:diagnostics_channel';
import { checkFields, checkWholeNumber } from '../../check.js';
import { type Clock, createSystemClock } from '../clock.js';
import type { Decision, KeyState, RateLimiter } from '../limiter.js';
import { checkCost, createMemoryLimiter } from '../memory/limiter.js';
import { type Plan, snapshotPlan } from '../plan.js';
import { createRedisCalls, type SendCommand } from './calls.js';
import { type OnBackendError, withLocalFallback } from './local-fallback.js';
import { withRefusalCache } from './refusal-cache.js';
import { createSharedLimiter } from './shared-limiter.js';

export type { OnBackendError, SendCommand };

/**
 * A {@link RateLimiter} that keeps the counts of all keys in a Redis or Valkey server, which many
 * processes share. It decides as the memory limiter does. Each request calls one script in the
 * server. After the server has refused a key, this process may refuse further requests of the key
 * for up to a second without a call. While the server fails, `take` and `peek` follow
 * `onBackendError`. All other methods that need the server reject.
 */
export interface RedisLimiter extends RateLimiter {
  /** Returns what `take` would decide now. Changes nothing. */
  peek(key: string, plan: Plan, cost?: number): Decision | Promise<Decision>;
  /**
   * Puts back the tokens that a decision took from windows that have not ended. Call this at most
   * once for a decision. Pass the object that `take` returned, not a copy.
   */
  refund(decision: Decision): Promise<void>;
  /** Resolves to the state of a key, or to `undefined` for an unknown key. */
  inspect(key: string): Promise<KeyState | undefined>;
  /**
   * Forgets the key: its buckets are full again and it is not banned. Other processes may still
   * refuse the key for up to a second.
   */
  reset(key: string): Promise<void>;
  /**
   * Refuses the key for `ms` milliseconds from now, whatever its plan says about bans. If the
   * server fails, only this process enforces the ban until it can report the ban to the server.
   */
  ban(key: string, ms: number): Promise<void>;
  /**
   * Ends the ban of a key and forgets its earlier bans. Other processes may still refuse the key
   * for up to a second.
   */
  unban(key: string): Promise<void>;
  /**
   * Is `shared` while the server decides for all processes. While the server fails, this is the
   * value of `onBackendError`.
   */
  readonly mode: 'shared' | OnBackendError;
}

export interface RedisLimiterOptions {
  /**
   * Sends a command to the server through a client of your choice, for example
   * `(command) => ioredis.call(...command)` or `(command) => redis.sendCommand(command)`.
   */
  readonly send: SendCommand;
  /** Prefix of the names of the limiter's keys in the server. Default: `store-orders:`. */
  readonly prefix?: string | undefined;
  /**
   * How to decide while the server fails. Default: `local`. Requests that are allowed meanwhile are
   * charged once the server works again.
   */
  readonly onBackendError?: OnBackendError | undefined;
  /** The most milliseconds that a decision takes, even while the server fails. Default: 100. */
  readonly deadlineMs?: number | undefined;
  /**
   * How many addresses can have a bucket of their own at a time. Further addresses share one
   * bucket. Default: 100,000.
   */
  readonly maxAddresses?: number | undefined;
  /**
   * A clock for tests. Default: the server's clock, so that all processes have the same time. With
   * any other clock, keys never expire in the server.
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
  /** The failure of the server. Absent if the mode is `shared`. */
  readonly error?: unknown;
}

const OPTIONS = ['send', 'prefix', 'onBackendError', 'deadlineMs', 'maxAddresses', 'clock'];

const modes = channel('store-orders:limiter');

/**
 * Creates a rate limiter whose keys are counted in a Redis or Valkey server. Keys of a plan with
 * `partition: 'address'` are client addresses. They are counted in this process's memory, because
 * strangers could fill the server with such keys, or keep it busy. Opens and closes no connection.
 * Throws a TypeError or RangeError that names the bad option.
 */
export function createRedisLimiter(options: RedisLimiterOptions): RedisLimiter {
  checkFields('options', options, OPTIONS);
  const { send, prefix = 'store-orders:', onBackendError = 'local', deadlineMs = 100, maxAddresses, clock } = options;
  if (typeof send !== 'function') throw new TypeError('send: expected a function');
  if (typeof prefix !== 'string') throw new TypeError('prefix: expected a string');
  if (!['local', 'open', 'closed'].includes(onBackendError)) {
    throw new TypeError('onBackendError: expected "local", "open" or "closed"');
  }
  checkWholeNumber('deadlineMs', deadlineMs, 1, 60_000);
  // A tenth of the deadline is left for a timer that fires late, and for the decision that this
  // process then makes without the server.
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
      checkWholeNumber('ms', ms, 1);
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
