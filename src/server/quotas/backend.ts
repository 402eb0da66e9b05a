import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createMemoryLimiter, createSystemClock, type RateLimiter } from '../../limits/index.js';
import type { LimiterModeMessage } from '../../limits/redis/limiter.js';
import { parseRedisUrl, type RedisAddress } from '../config/redis-url.js';
import type { Settings } from '../config/settings.js';
import type { BackendState } from '../listener/health.js';
import type { Log } from '../log/log.js';
import { messageOf } from '../log/message-of.js';
import { withSavedQuotas } from './saved-limiter.js';
import type { QuotaTable } from './table.js';

/**
 * The part of the storage that quotas use. It has a table if quotas are counted in this process.
 */
export interface QuotaStorage {
  /** The backend's name in messages, without a password. */
  readonly name: string;
  readonly quotas?: QuotaTable;
}

/** The backend with which a server counts quotas. */
interface Counting {
  readonly limiter: RateLimiter;
  /** The backend's name in logs. Absent when quotas are counted in this process. */
  readonly name?: string;
  state(): BackendState;
  /** Saves the counts and stops all timers. */
  close(): Promise<void>;
}

export type OpenedCounting =
  | { readonly ok: true; readonly counting: Counting }
  | { readonly ok: false; readonly message: string };

/** Opens the backend that the settings name. */
export async function openCounting(
  { redisUrl }: Pick<Settings, 'redisUrl'>,
  storage: QuotaStorage,
  log: Log,
): Promise<OpenedCounting> {
  const address = redisUrl === undefined ? undefined : parseRedisUrl(redisUrl);
  try {
    return {
      ok: true,
      counting: address === undefined ? countInMemory(storage, log) : await countInRedis(address, log),
    };
  } catch (error) {
    return { ok: false, message: `${address?.name ?? storage.name}: ${messageOf(error)}` };
  }
}

const SAVE_EVERY_MS = 500;

/**
 * Counts in this process and saves the counts to the storage, so that a restart does not refill a
 * quota. Throws if the saved quotas cannot be read.
 */
function countInMemory({ quotas: table }: QuotaStorage, log: Log): Counting {
  if (table === undefined) throw new TypeError('the storage has no table of quotas');
  const clock = createSystemClock();
  const limiter = withSavedQuotas({ limiter: createMemoryLimiter({ clock }), clock, table });

  /**
   * Why the last save failed, or `undefined` if it succeeded. The same reason is logged only once
   * in a row.
   */
  let failure: string | undefined;

  async function save(): Promise<void> {
    const saved = await limiter.save();
    const error = saved.ok ? undefined : messageOf(saved.error);
    if (error !== failure) {
      if (error !== undefined) log.error('quotas not saved; will retry', { error });
      else log.event('quotas saved again');
    }
    failure = error;
  }

  const saving = setInterval(save, SAVE_EVERY_MS).unref();
  return {
    limiter,
    state: () => 'ok',
    async close() {
      clearInterval(saving);
      await save();
    },
  };
}

const MODES = 'store-orders:limiter';

/**
 * Counts in Redis, together with all other servers. While Redis fails, even at the start, counts in
 * this process only. Throws if the driver is not installed.
 */
async function countInRedis(address: RedisAddress, log: Log): Promise<Counting> {
  // Imported here, so that a server that counts in memory starts sooner.
  const [{ createRedisLimiter }, { connectRedis }] = await Promise.all([
    import('../../limits/redis/limiter.js'),
    import('./redis-client.js'),
  ]);
  const redis = await connectRedis(address);

  function onMode(message: unknown): void {
    if (!isModeMessage(message)) return;
    const { mode, error } = message;
    if (mode === 'shared') log.event('quotas counted in Redis', { redis: address.name });
    else log.error('quotas counted in this process only', { redis: address.name, error: messageOf(error) });
  }

  subscribe(MODES, onMode);
  const limiter = createRedisLimiter({ send: redis.send });
  // If Redis cannot be reached, this call fails, and the limiter changes its mode, which is logged.
  if (!(await redis.arrived())) await limiter.inspect('').catch(() => {});
  return {
    limiter,
    name: address.name,
    // The limiter notices a lost connection only at its next call, so the connection is checked
    // too. The limiter notices a recovery when it probes the server.
    state: () => (limiter.mode === 'shared' && redis.isThere() ? 'ok' : 'degraded'),
    async close() {
      unsubscribe(MODES, onMode);
      redis.close();
    },
  };
}

function isModeMessage(message: unknown): message is LimiterModeMessage {
  return typeof message === 'object' && message !== null && 'mode' in message;
}
