import { createMemoryLimiter, PLANS, type RateLimiter } from '../../limits/index.js';
import type { LimiterMode, SendCommand } from '../../limits/redis/limiter.js';
import { messageOf } from '../../message-of.js';
import type { BackendState } from '../../server/index.js';
import type { EventLog } from '../log/log.js';
import type { RedisAddress } from '../settings/urls.js';
import type { SavedQuotas } from '../storage/quota-table.js';
import { requireTable, withSavedQuotas } from './saved-quotas.js';
import { createWakingClock } from './waking-clock.js';

/** Where a server's quotas are counted: in this process or in Redis. */
export interface QuotaBackend {
  readonly limiter: RateLimiter;
  /** Returns the mode of the Redis limiter. Absent when quotas are counted in this process. */
  readonly mode?: () => LimiterMode;
  state(): BackendState;
  /** Saves the counts, or disconnects from Redis. */
  close(): Promise<void>;
}

/**
 * Counts quotas in Redis if `address` is given, otherwise in this process. Rejects if the saved
 * quotas cannot be read, or if the Redis driver is not installed.
 */
export function openQuotaBackend(
  address: RedisAddress | undefined,
  quotas: SavedQuotas | undefined,
  log: EventLog,
): Promise<QuotaBackend> {
  return address === undefined ? countInMemory(quotas, log) : countInRedis(address, log);
}

const SAVE_EVERY_MS = 500;

/**
 * Counts in this process and saves the counts to the storage, so that a restart does not refill a
 * quota.
 */
async function countInMemory(quotas: SavedQuotas | undefined, log: EventLog): Promise<QuotaBackend> {
  const clock = createWakingClock();
  const limiter = await withSavedQuotas(createMemoryLimiter({ clock }), clock, requireTable(quotas));
  /** Why the last save failed, if it did. The same failure is logged once. */
  let failure: string | undefined;

  async function save(): Promise<void> {
    const error = await limiter.save().then(() => undefined, messageOf);
    if (error !== failure) {
      if (error !== undefined) log.error('quotas not saved; will retry', { error });
      else log.event('quotas saved again');
    }
    failure = error;
  }

  const saveTimer = setInterval(save, SAVE_EVERY_MS);
  return {
    limiter,
    state: () => 'ok',
    async close() {
      clearInterval(saveTimer);
      await save();
    },
  };
}

/**
 * Counts in Redis, together with all other servers. Where Redis fails, even at the start, or for the
 * keys of one shard, counts in this process only.
 */
async function countInRedis(address: RedisAddress, log: EventLog): Promise<QuotaBackend> {
  // These modules are imported here, so that a server that counts in memory starts sooner.
  const [{ createRedisLimiter }, { connectRedis }] = await Promise.all([
    import('../../limits/redis/limiter.js'),
    import('./redis-client.js'),
  ]);
  const redis = await connectRedis(address);
  const limiter = createRedisLimiter({
    send: redis.send,
    prefix: address.prefix,
    onMode(mode, error) {
      if (mode === 'shared') log.event('quotas counted in Redis', { redis: address.name });
      else
        log.error('quotas counted in this process only, where Redis fails', {
          redis: address.name,
          error: messageOf(error),
        });
    },
  });
  void warnOfEviction(redis.send, address, log);
  // While Redis is not connected, calls fail at once. After some failures, the limiter counts in
  // this process, and `onMode` logs the change.
  while (limiter.mode === 'shared' && !redis.isConnected()) await limiter.peek('', PLANS.free);
  return {
    limiter,
    mode: () => limiter.mode,
    // The limiter notices a lost connection only when a call fails.
    state: () => (limiter.mode === 'shared' && redis.isConnected() ? 'ok' : 'degraded'),
    async close() {
      redis.close();
    },
  };
}

/** Logs an error if Redis may evict records, because an evicted key has its whole quota again. */
async function warnOfEviction(send: SendCommand, { name }: RedisAddress, log: EventLog): Promise<void> {
  // A user without the right to INFO, or a server that is down, gets no warning.
  const memory = String(await send(['INFO', 'memory'], '').catch(() => ''));
  const [, policy = 'noeviction'] = /^maxmemory_policy:(\S+)/m.exec(memory) ?? [];
  if (policy === 'noeviction' || /^maxmemory:0\s/m.test(memory)) return;
  log.error('Redis may evict quotas; set maxmemory-policy noeviction', { redis: name, policy });
}
