import { createMemoryLimiter, createSystemClock } from '../../limits/index.js';
import { createRedisLimiter, type RedisLimiter, type SendCommand } from '../../limits/redis/limiter.js';
import type { RedisAddress } from '../settings/urls.js';
import type { QuotaTable } from '../storage/quota-table.js';
import { requireTable, withSavedQuotas } from './saved-quotas.js';

/** Reads and changes the quotas of keys from outside the process that counts them. */
export interface QuotaAdmin extends Pick<RedisLimiter, 'peek' | 'reset' | 'ban' | 'unban'> {
  /** Names where quotas are counted. A server that counts elsewhere ignores changes made here. */
  readonly place: string;
}

/** Creates a {@link QuotaAdmin} for saved quotas. A server applies a change within a second. */
export function savedQuotaAdmin(place: string, quotas: QuotaTable | undefined): QuotaAdmin {
  const table = requireTable(quotas);
  return {
    place,
    async peek(keyId, plan, cost) {
      const clock = createSystemClock();
      const limiter = createMemoryLimiter({ clock });
      await withSavedQuotas(limiter, clock, table, keyId);
      return limiter.peek(keyId, plan, cost);
    },
    reset: (keyId) => table.request(keyId, 'reset'),
    unban: (keyId) => table.request(keyId, 'lift_ban'),
    ban: (keyId, ms) => table.request(keyId, 'ban', Date.now() + ms),
  };
}

/** The deadline of a call to Redis, longer than that of a server, because a person can wait. */
const PATIENCE_MS = 5_000;

/**
 * Creates a {@link QuotaAdmin} for Redis, which applies a change immediately. A running server may
 * refuse the key for up to another second, because it caches refusals.
 */
export function redisQuotaAdmin(send: SendCommand, { prefix, name: place }: RedisAddress): QuotaAdmin {
  const options = { send, prefix, onBackendError: 'closed', deadlineMs: PATIENCE_MS } as const;
  const { peek, reset, ban, unban } = createRedisLimiter(options);
  return { place, peek, reset, ban, unban };
}
