import { createMemoryLimiter, createSystemClock, type Decision, type Plan } from '../limits/index.js';
import type { QuotaTable } from './data/quota-table.js';
import { shifted } from './quotas.js';

/** What is known of keys' quotas, and what can be done about them, from outside of the process that counts. */
export interface QuotaDesk {
  /** What the limiter would say, without taking anything. */
  peek(keyId: string, plan: Plan): Decision | Promise<Decision>;
  /** Gives full quotas back and lifts the ban. */
  reset(keyId: string): void | Promise<void>;
  liftBan(keyId: string): void | Promise<void>;
}

/** Over what a server saves, which does within a second what is asked here. */
export function savedQuotaDesk(table: QuotaTable): QuotaDesk {
  return {
    peek(keyId, plan) {
      const clock = createSystemClock();
      const limiter = createMemoryLimiter({ clock });
      const saved = shifted(table.get(keyId), -clock.utcOffsetMs());
      if (saved !== undefined) limiter.restore(keyId, saved);
      return limiter.take(keyId, plan, 0);
    },
    reset: (keyId) => table.request(keyId, 'reset'),
    liftBan: (keyId) => table.request(keyId, 'lift_ban'),
  };
}
