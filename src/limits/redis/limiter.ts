import { checkFields, checkFunction, checkOneOf, checkWholeNumber } from '../../check.js';
import { messageOf } from '../../message-of.js';
import { NO_STRIKES, withBan } from '../ban.js';
import type { Clock } from '../clock.js';
import { checkCost, type Decision, type RateLimiter } from '../limiter.js';
import { createStatefulLimiter } from '../memory/limiter.js';
import { checkPlan, type Plan } from '../plan.js';
import { decide } from '../rule.js';
import { createRedisCalls, type SendCommand, type ServerDecision } from './calls.js';
import { createCircuitBreaker } from './circuit-breaker.js';
import { createRefusals } from './refusals.js';

export type { SendCommand };

/**
 * How requests with a key are decided. `shared`: the server decides for all processes. The others
 * apply to the keys whose calls fail, which in a cluster can be those of one shard. `local`: this
 * process applies the plan's quotas to the requests that it receives itself. `open`: no key is
 * counted, and none is refused, unless `ban` banned it here while the server failed. `closed`: no key
 * is decided, and its client receives a 503. In every mode, this process counts requests without a
 * valid key by their address.
 */
export type LimiterMode = 'shared' | 'local' | 'open' | 'closed';

/**
 * A {@link RateLimiter} that keeps the counts of all keys in a Redis or Valkey server, which many
 * processes share. It decides as the memory limiter does. Each request calls one script in the
 * server. While the server fails, `take` and `peek` follow `onBackendError`. All other methods that
 * need the server reject.
 */
export interface RedisLimiter extends RateLimiter {
  /**
   * Returns what `take` would decide now, with the windows as they would be after the request. With a
   * cost of 0, they are as they are now. Changes nothing.
   */
  peek(key: string, plan: Plan, cost?: number): Decision | Promise<Decision>;
  /**
   * Forgets the key: its buckets are full again and it is not banned. Other processes may still
   * refuse the key for up to a second. A ban that began in another process during an outage holds
   * there to its end.
   */
  reset(key: string): Promise<void>;
  /**
   * Refuses the key for `ms` milliseconds from now, whatever its plan says about bans. If the
   * server fails, the promise rejects, and only this process enforces the ban.
   */
  ban(key: string, ms: number): Promise<void>;
  /**
   * Ends the ban of a key and forgets its earlier bans. Other processes may still refuse the key
   * for up to a second. A ban that began in another process during an outage holds there to its end.
   */
  unban(key: string): Promise<void>;
  /**
   * `shared`, or the value of `onBackendError` while the server, or a part of a cluster, fails.
   * Reading it may start a probe that finds out whether the server works again.
   */
  readonly mode: LimiterMode;
}

export interface RedisLimiterOptions {
  /**
   * Sends a command to the server through a client of your choice, for example
   * `(command) => ioredis.call(...command)`, `(command) => redis.sendCommand(command)`, or for Valkey
   * GLIDE `(command) => client.customCommand(command)`.
   */
  readonly send: SendCommand;
  /** Prefix of the names of the limiter's keys in the server. Default: `store-orders:`. */
  readonly prefix?: string | undefined;
  /**
   * How to decide while the server fails: see {@link LimiterMode}. Default: `local`. Each process
   * then grants at most one quota of its own in addition to the shared one, for each key and window.
   * Nothing is charged afterwards.
   */
  readonly onBackendError?: Exclude<LimiterMode, 'shared'> | undefined;
  /**
   * The most milliseconds that a decision waits for the server. After that, `onBackendError`
   * decides this request. After three late or failed calls in a row, no request waits until the
   * server works again. Default: 250.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * For how many milliseconds this process may refuse a key by itself after the server has refused
   * it, so that an abusive client cannot keep the server busy. Such refusals do not count towards a
   * ban. At most 1,000, which is the default. With 0, the server decides on every request.
   */
  readonly refusalCacheMs?: number | undefined;
  /**
   * Called when the mode changes, and when an outage goes on for another reason. In an outage,
   * `error` is the failure of the server. If the function throws or rejects, a process warning
   * reports it.
   */
  readonly onMode?: ((mode: LimiterMode, error?: unknown) => void) | undefined;
  /**
   * How many addresses can have a bucket of their own at a time. Further addresses share one
   * bucket. At most 8,000,000. Default: 100,000.
   */
  readonly maxAddresses?: number | undefined;
  /**
   * A clock for tests, or for a server that forbids the command `TIME` in scripts. Default: the
   * server's clock, so that all processes have the same time. With any other clock, the system times
   * of the processes must agree, and keys never expire in the server.
   */
  readonly clock?: Clock | undefined;
}

/**
 * Creates a rate limiter whose keys are counted in a Redis or Valkey server. Keys of a plan with
 * `partition: 'address'` are client addresses. They are counted in this process's memory, because
 * strangers could fill the server with such keys, or keep it busy. Opens and closes no connection.
 * Throws a TypeError or RangeError that names the bad option.
 */
export function createRedisLimiter(options: RedisLimiterOptions): RedisLimiter {
  checkFields('options', options, [
    'prefix',
    'onBackendError',
    'deadlineMs',
    'refusalCacheMs',
    'onMode',
    'maxAddresses',
    'clock',
    'send',
  ]);
  const { send, prefix = 'store-orders:', onBackendError = 'local', deadlineMs = 250 } = options;
  const { refusalCacheMs = 1_000, onMode = () => {}, maxAddresses, clock } = options;
  checkFunction('send', send);
  if (typeof prefix !== 'string') throw new TypeError('prefix: expected a string');
  checkOneOf('onBackendError', onBackendError, ['local', 'open', 'closed']);
  checkWholeNumber('deadlineMs', deadlineMs, 1, 60_000);
  checkWholeNumber('refusalCacheMs', refusalCacheMs, 0, 1_000);
  checkFunction('onMode', onMode);
  const calls = createRedisCalls(send, prefix, clock);
  const localMs = clock === undefined ? () => performance.now() : () => clock.nowMs();
  const refusals = createRefusals(localMs, refusalCacheMs);
  const breaker = createCircuitBreaker({
    deadlineMs,
    probe: calls.probe,
    async onChange(outage) {
      try {
        await (outage === undefined ? onMode('shared') : onMode(onBackendError, outage.error));
      } catch (error) {
        process.emitWarning(`onMode failed: ${messageOf(error)}`, 'StoreOrdersWarning');
      }
    },
  });
  /** Decides while the server fails. It keeps its counts for the life of the process. */
  const local = createStatefulLimiter({ clock, maxAddresses });

  const taking = {
    askServer: calls.take,
    decideHere: local.take,
    repeat: refusals.repeat,
    note: refusals.note,
  };
  const peeking: typeof taking = {
    askServer: calls.peek,
    decideHere: local.peek,
    repeat: () => undefined,
    note: () => {},
  };

  function decideRequest(way: typeof taking, key: string, plan: Plan, cost: number): Decision | Promise<Decision> {
    if (typeof key !== 'string') throw new TypeError('key: expected a string');
    const checked = checkPlan(plan);
    checkCost(cost, checked);
    if (checked.partition === 'address') return way.decideHere(key, checked, cost);
    const outage = breaker.outage(key);
    if (outage !== undefined) return decideAlone(way, key, checked, cost, outage.error);
    if (isBannedHere(key)) return local.peek(key, checked, cost);
    return way.repeat(key, checked, cost) ?? decideShared(way, key, checked, cost);
  }

  function decideShared(way: typeof taking, key: string, plan: Plan, cost: number): Promise<Decision> {
    const sentMs = localMs();
    const noted = (decided: ServerDecision) => {
      way.note(decided, sentMs);
      return decided.decision;
    };
    const reply = breaker.watch(key, way.askServer(key, plan, cost));
    return reply.then(noted, (error) => decideAlone(way, key, plan, cost, error));
  }

  /** Decides on a request that the server does not decide, because of `error`. */
  function decideAlone(way: typeof taking, key: string, plan: Plan, cost: number, error: unknown): Decision {
    if (onBackendError === 'closed') throw new Error('the request cannot be counted', { cause: error });
    if (onBackendError === 'open') return local.peek(key, plan, cost);
    const banLeftMs = refusals.banLeftMs(key);
    if (banLeftMs === 0 || isBannedHere(key)) return way.decideHere(key, plan, cost);
    const nowMs = local.clock.nowMs();
    const buckets = local.inspect(key)?.buckets ?? [];
    const state = { buckets, ban: withBan(NO_STRIKES, banLeftMs, nowMs) };
    return decide(key, state, plan, cost, { nowMs, utcOffsetMs: local.clock.utcOffsetMs(nowMs) }).decision;
  }

  /** Returns whether a ban that began in this process ends later than the ban of the server. */
  function isBannedHere(key: string): boolean {
    const leftMs = (local.inspect(key)?.ban?.banEndMs ?? 0) - local.clock.nowMs();
    return leftMs > 0 && leftMs > refusals.banLeftMs(key);
  }

  /**
   * Sends a change of a key. The refusal is forgotten after the call, because a reply that arrives
   * during the call could bring it back.
   */
  const change = (key: string, reply: Promise<unknown>) =>
    breaker.watch(key, reply).finally(() => refusals.forget(key));

  return {
    take: (key, plan, cost = 1) => decideRequest(taking, key, plan, cost),
    peek: (key, plan, cost = 1) => decideRequest(peeking, key, plan, cost),

    async ban(key, ms) {
      checkWholeNumber('ms', ms, 1);
      try {
        await breaker.watch(key, calls.ban(key, ms));
        refusals.noteBan(key, ms);
      } catch (error) {
        // A ban of the server that ends later still holds.
        local.ban(key, ms);
        throw error;
      }
    },

    async reset(key) {
      local.reset(key);
      await change(key, calls.reset(key));
    },

    async unban(key) {
      local.unban(key);
      await change(key, calls.unban(key));
    },

    get mode() {
      return breaker.outage() === undefined ? 'shared' : onBackendError;
    },
  };
}
