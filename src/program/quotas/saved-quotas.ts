import type { Clock, Decision, MemoryLimiter, Plan } from '../../limits/index.js';
import { messageOf } from '../../message-of.js';
import type { SavedQuotas } from '../storage/quota-table.js';

/** Returns the table. It is absent only with PostgreSQL, where Redis counts the quotas instead. */
export function requireTable<Table>(quotas: Table | undefined): Table {
  if (quotas === undefined) throw new TypeError('the storage has no table of quotas');
  return quotas;
}

/**
 * Loads the saved quotas of all keys, or only of `onlyKeyId`, into the limiter. From then on,
 * tracks which keys have changed. `clock` is that of the limiter. Quotas of addresses are not saved,
 * because strangers could fill the table with them.
 */
export async function withSavedQuotas(limiter: MemoryLimiter, clock: Clock, table: SavedQuotas, onlyKeyId?: string) {
  const unsaved = new Set<string>();
  let appliedSeq = 0n;

  async function applyRequests(): Promise<void> {
    for (const { seq, keyId, action, untilMs } of await table.pending()) {
      // A change stays in the table until the next successful `save`, but is applied only once.
      if (seq <= appliedSeq) continue;
      appliedSeq = seq;
      unsaved.add(keyId);
      if (action === 'ban') ban(keyId, untilMs);
      else if (action === 'reset') limiter.reset(keyId);
      else limiter.unban(keyId);
    }
  }

  function ban(keyId: string, untilMs: number): void {
    const leftMs = untilMs - clock.nowMs() - clock.utcOffsetMs();
    if (leftMs > 0) limiter.ban(keyId, leftMs);
  }

  for (const [keyId, json] of await table.load(onlyKeyId)) {
    try {
      limiter.restore(keyId, JSON.parse(json));
    } catch (error) {
      throw new Error(`the saved quotas of ${keyId} are invalid: ${messageOf(error)}`);
    }
  }
  // Changes that commands requested while no server ran are applied before the first `take`.
  await applyRequests();

  return {
    take(key: string, plan: Plan, cost?: number): Decision {
      if (plan.partition === 'key') unsaved.add(key);
      return limiter.take(key, plan, cost);
    },

    /**
     * Applies the changes that commands requested, and saves all changed quotas in one transaction.
     * If it rejects, the next call tries again.
     */
    async save(): Promise<void> {
      await applyRequests();
      const saving = [...unsaved];
      if (saving.length === 0) return;
      unsaved.clear();
      const states = saving.map((keyId) => {
        const state = limiter.inspect(keyId);
        return [keyId, state && JSON.stringify(state)] as const;
      });
      try {
        await table.save(states, appliedSeq);
      } catch (error) {
        for (const keyId of saving) unsaved.add(keyId);
        throw error;
      }
    },
  };
}
