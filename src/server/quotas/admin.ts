import { createMemoryLimiter, createSystemClock, type Decision, type KeyState, type Plan } from '../../limits/index.js';
import { createRedisLimiter } from '../../limits/redis/limiter.js';
import type { RedisConnection } from './redis-client.js';
import { shifted } from './saved-limiter.js';
import type { QuotaTable } from './table.js';

/** What is known of keys' quotas, and what can be done about them, from outside of the process that counts. */
export interface QuotaDesk {
  /** Where they are counted: a server that counts elsewhere knows nothing of it. */
  readonly place: string;
  /** What the limiter would say, without taking anything. */
  peek(keyId: string, plan: Plan): Decision | Promise<Decision>;
  /** Gives full quotas back and lifts the ban. */
  reset(keyId: string): void | Promise<void>;
  liftBan(keyId: string): void | Promise<void>;
  /** Refuses the key for so long; its quotas stay as they are. */
  ban(keyId: string, ms: number): void | Promise<void>;
}

/** Over what a server saves, which does within a second what is asked here. */
export function savedQuotaDesk(table: QuotaTable, place: string): QuotaDesk {
  return {
    place,
    peek: (keyId, plan) => restored(keyId, table.get(keyId)).limiter.take(keyId, plan, 0),
    reset: (keyId) => table.request(keyId, 'reset'),
    liftBan: (keyId) => table.request(keyId, 'lift_ban'),
    ban: (keyId, ms) =>
      table.requestBan(keyId, Date.now() + ms, (saved) => {
        const { limiter, utcOffsetMs } = restored(keyId, saved);
        limiter.ban(keyId, ms);
        return shifted(limiter.inspect(keyId), utcOffsetMs);
      }),
  };
}

/** A limiter that knows one key as it was saved. */
function restored(keyId: string, saved: KeyState | undefined) {
  const clock = createSystemClock();
  const limiter = createMemoryLimiter({ clock });
  const utcOffsetMs = clock.utcOffsetMs();
  const state = shifted(saved, -utcOffsetMs);
  if (state !== undefined) limiter.restore(keyId, state);
  return { limiter, utcOffsetMs };
}

/** A person waits longer than a request may. */
const PATIENCE_MS = 5_000;

/** Over the Redis server in which servers count: they do what is asked here at once, and refuse a second longer at most. */
export function redisQuotaDesk({ send }: RedisConnection, place: string): QuotaDesk {
  const limiter = createRedisLimiter({ send, onBackendError: 'closed', deadlineMs: PATIENCE_MS });
  return {
    place,
    peek: (keyId, plan) => limiter.peek(keyId, plan, 0),
    reset: (keyId) => limiter.reset(keyId),
    liftBan: (keyId) => limiter.unban(keyId),
    ban: (keyId, ms) => limiter.ban(keyId, ms),
  };
}
