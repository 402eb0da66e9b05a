import { createMemoryLimiter, createSystemClock, type Decision, type Plan } from '../../limits/index.js';
import { createRedisLimiter } from '../../limits/redis/limiter.js';
import type { RedisConnection } from './redis-client.js';
import { withSavedQuotas } from './saved-limiter.js';
import type { QuotaTable } from './table.js';

/** Reads and changes the quotas of keys from outside the process that counts them. */
export interface QuotaAdmin {
  /**
   * The name of the place where quotas are counted. A server that counts elsewhere ignores changes
   * made here.
   */
  readonly place: string;
  /** Returns the decision that a request would get, without charging the key. */
  peek(keyId: string, plan: Plan): Decision | Promise<Decision>;
  /** Restores the full quotas and lifts the ban. */
  reset(keyId: string): void | Promise<void>;
  liftBan(keyId: string): void | Promise<void>;
  /** Bans the key for `ms` milliseconds. Its quotas do not change. */
  ban(keyId: string, ms: number): void | Promise<void>;
}

/**
 * Creates a {@link QuotaAdmin} for the table in which a server saves its quotas. The server applies
 * a change within a second.
 */
export function savedQuotaAdmin(table: QuotaTable, place: string): QuotaAdmin {
  return {
    place,
    async peek(keyId, plan) {
      const clock = createSystemClock();
      const limiter = createMemoryLimiter({ clock });
      await withSavedQuotas({ limiter, clock, table: { ...table, load: () => table.load(keyId) } });
      return limiter.peek(keyId, plan, 0);
    },
    reset: (keyId) => table.request(keyId, 'reset'),
    liftBan: (keyId) => table.request(keyId, 'lift_ban'),
    ban: (keyId, ms) => table.request(keyId, `ban ${Date.now() + ms}`),
  };
}

/**
 * The deadline of a call to Redis. It is longer than that of a server, because a person can wait.
 */
const PATIENCE_MS = 5_000;

/**
 * Creates a {@link QuotaAdmin} for the Redis server that counts the quotas. Redis applies a change
 * immediately. A running server can refuse a key for up to another second, because it caches
 * refusals.
 */
export function redisQuotaAdmin({ send }: RedisConnection, place: string): QuotaAdmin {
  const limiter = createRedisLimiter({ send, onBackendError: 'closed', deadlineMs: PATIENCE_MS });
  return {
    place,
    peek: (keyId, plan) => limiter.peek(keyId, plan, 0),
    reset: (keyId) => limiter.reset(keyId),
    liftBan: (keyId) => limiter.unban(keyId),
    ban: (keyId, ms) => limiter.ban(keyId, ms),
  };
}
