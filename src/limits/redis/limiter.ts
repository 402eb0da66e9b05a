import { channel } from 'node:diagnostics_channel';
import { type Clock, createSystemClock } from '../clock.js';
import type { Decision, KeyState, RateLimiter } from '../limiter.js';
import { checkCost, createMemoryLimiter, type MemoryLimiter } from '../memory/limiter.js';
import { type Plan, wholeNumber } from '../plan.js';
import { decide } from '../rule.js';
import { createRedisCalls, type Seen, type SendCommand } from './calls.js';
import { createBreaker } from './circuit-breaker.js';
import type { Found } from './codec.js';
import { PassedDecision } from './lazy-decision.js';
import { createOutage } from './local-fallback.js';
import { createDenials, withReport } from './refusal-cache.js';

export type { SendCommand };

/**
 * {@link RateLimiter} whose keys are counted in a Redis or Valkey server, together for all processes: each request is
 * one call of one script. Decides as the memory limiter does. `take` and `peek` reject only with `onBackendError:
 * 'closed'`; the others reject when the server fails.
 */
export interface RedisLimiter extends RateLimiter {
  /** What `take` would answer now; nothing is changed. */
  peek(key: string, plan: Plan, cost?: number): Decision | Promise<Decision>;
  /** Puts back what a decision took, as far as its windows are still open. Call it at most once for a decision of `take`. */
  refund(decision: Decision): Promise<void>;
  /** What is remembered of a key, `undefined` for nothing. */
  inspect(key: string): Promise<KeyState | undefined>;
  /** Forgets the key: full buckets, no ban. Other processes may refuse it for a second more. */
  reset(key: string): Promise<void>;
  /** Refuses the key for `ms` milliseconds from now, whatever its plan says of bans. */
  ban(key: string, ms: number): Promise<void>;
  /** Ends a ban, and forgets the ones before. Other processes may refuse the key for a second more. */
  unban(key: string): Promise<void>;
  /** Who decides now: the server for all processes, or while it fails what `onBackendError` says. */
  readonly mode: 'shared' | OnBackendError;
}

/**
 * Who decides while the server fails: `local`, this process alone by the same rule; `open`, likewise, but nothing is
 * refused; `closed`, nobody: requests are answered 503.
 */
export type OnBackendError = 'local' | 'open' | 'closed';

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
  const local: MemoryLimiter = createMemoryLimiter({ clock: localClock, maxAddresses });
  const outage = createOutage(local, localClock, onBackendError === 'open');
  const redis = createRedisCalls(send, prefix, clock, patienceMs);
  const localMs = clock === undefined ? () => performance.now() : () => clock.nowMs();
  const denials = createDenials(localMs, deadlineMs);
  /** Of the call that failed first: in a cluster the server that has this key is the one to probe. */
  let failedKey: string | undefined;

  const breaker = createBreaker({
    patienceMs,
    probe: () => redis.probe(failedKey ?? ''),
    onChange(error) {
      const mode = error === undefined ? 'shared' : onBackendError;
      modes.publish({ mode, prefix, ...(error !== undefined && { error }) } satisfies LimiterModeMessage);
      if (mode !== 'shared') return;
      failedKey = undefined;
      void outage.chargeAll(charge);
    },
  });

  function charge(key: string): Promise<void> {
    return outage.charge(
      key,
      (plan, owed) => redis.call('charge', key, plan, 0, undefined, owed),
      (asked) => breaker.run(() => asked),
    );
  }

  function insteadOf(method: 'take' | 'peek', key: string, plan: Plan, cost: number, error: unknown): Decision {
    failedKey ??= key;
    if (onBackendError === 'closed') throw new Error('the limits cannot be counted', { cause: error });
    return outage[method](key, plan, cost);
  }

  function rulingOf(key: string, plan: Plan, cost: number, { state, nowMs, utcOffsetMs }: Found) {
    return decide(key, state, plan, cost, { nowMs, utcOffsetMs });
  }

  function decisionOf(key: string, plan: Plan, cost: number, seen: Seen): Decision {
    if ('state' in seen) return rulingOf(key, plan, cost, seen).decision;
    return new PassedDecision(key, plan, cost, seen.utcOffsetMs, seen.numbers);
  }

  return {
    take(key, plan, cost = 1) {
      checkCost(cost, plan);
      if (plan.partition === 'address') return local.take(key, plan, cost);
      const failure = breaker.failure();
      if (failure !== undefined) return insteadOf('take', key, plan, cost, failure.error);
      const denied = denials.answer(key, plan, cost, clock?.utcOffsetMs() ?? 0);
      if (denied !== undefined) return denied;
      if (outage.isOwed(key)) void charge(key);
      const asked = redis.call('take', key, plan, cost, denials.report(key));
      return breaker
        .run(() => asked)
        .then(
          (seen) => {
            if ('numbers' in seen) {
              denials.forget(key);
              return decisionOf(key, plan, cost, seen);
            }
            const ruling = rulingOf(key, plan, cost, seen);
            denials.note(key, ruling, seen.othersFullAtMs, clock === undefined ? seen.nowMs - localMs() : 0);
            return ruling.decision;
          },
          (error) => {
            const decision = insteadOf('take', key, plan, cost, error);
            // The server may have charged it all the same, and have said so too late: it is not to be charged again.
            asked.then(
              (seen) => {
                if (decisionOf(key, plan, cost, seen).verdict === 'within_quota') local.refund(decision);
              },
              () => {},
            );
            return decision;
          },
        );
    },

    peek(key, plan, cost = 1) {
      checkCost(cost, plan);
      if (plan.partition === 'address') return local.peek(key, plan, cost);
      const failure = breaker.failure();
      if (failure !== undefined) return insteadOf('peek', key, plan, cost, failure.error);
      return breaker
        .run(() => redis.call('peek', key, plan, cost, denials.unreported(key)))
        .then(
          (seen) => decisionOf(key, plan, cost, seen),
          (error) => insteadOf('peek', key, plan, cost, error),
        );
    },

    async refund(decision) {
      const { key, plan, cost, verdict, windows } = decision;
      if (verdict !== 'within_quota') return;
      if (plan.partition === 'address' || breaker.failure() !== undefined) return local.refund(decision);
      denials.doubt(key);
      const amounts = windows.map(({ resetAtMs }) => [cost, resetAtMs] as const);
      await breaker.run(() => redis.call('refund', key, plan, 0, undefined, amounts));
    },

    async inspect(key) {
      const report = denials.unreported(key);
      const state = await breaker.run(() => redis.inspect(key));
      return state && withReport(state, report);
    },

    async reset(key) {
      denials.forget(key);
      outage.forget(key);
      await breaker.run(() => redis.reset(key));
    },

    async ban(key, ms) {
      wholeNumber('ms', ms, 1);
      denials.forget(key);
      await breaker.run(() => redis.call('ban', key, undefined, ms, undefined));
    },

    async unban(key) {
      denials.forget(key);
      local.unban(key);
      await breaker.run(() => redis.call('unban', key, undefined, 0, undefined));
    },

    get mode() {
      return breaker.failure() === undefined ? 'shared' : onBackendError;
    },
  };
}
