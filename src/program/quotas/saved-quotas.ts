import * as v from 'valibot';
import type { KeyState } from '../../limits/limiter.js';
import type { StatefulLimiter } from '../../limits/memory/limiter.js';
import type { SavedQuotas } from '../storage/quota-table.js';

/** Returns the table. It is absent only with PostgreSQL, where Redis counts the quotas instead. */
export function requireTable<Table>(quotas: Table | undefined): Table {
  if (quotas === undefined) throw new TypeError('the storage has no table of quotas');
  return quotas;
}

const integerSchema = v.pipe(v.number(), v.safeInteger());
const stateSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    buckets: v.array(
      v.object({
        name: v.string(),
        refill: v.literal('interval'),
        ...v.entriesFromList(['windowMs', 'taken', 'atMs'], integerSchema),
      }),
    ),
    ban: v.exactOptional(
      v.object({
        strikesAtMs: v.array(integerSchema),
        ...v.entriesFromList(['refusedAtMs', 'forgiven', 'banEndMs', 'banMs', 'level', 'forgetAtMs'], integerSchema),
      }),
    ),
  }),
);

/**
 * A limiter whose quotas of keys survive a restart. Quotas of addresses are not saved, because
 * strangers could fill the table with them.
 */
export interface SavedLimiter extends Pick<StatefulLimiter, 'take'> {
  /**
   * Applies the changes that commands requested, and saves all changed quotas in one transaction.
   * If it rejects, the next call tries again.
   */
  save(): Promise<void>;
}

/**
 * Loads the saved quotas of all keys, or only of `onlyKeyId`, into the limiter. From then on,
 * tracks which keys have changed.
 */
export async function withSavedQuotas(
  limiter: StatefulLimiter,
  table: SavedQuotas,
  onlyKeyId?: string,
): Promise<SavedLimiter> {
  const { clock } = limiter;
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

  // States are parsed here and not in the worker, because loading valibot would delay its start.
  for (const [keyId, json] of await table.load(onlyKeyId)) {
    const { success, output, issues } = v.safeParse(stateSchema, json);
    if (!success) throw new Error(`the saved quotas of ${keyId} are invalid: ${issues[0].message}`);
    limiter.restore(keyId, shiftTimes(output, -clock.utcOffsetMs()));
  }
  // Changes that commands requested while no server ran are applied before the first `take`.
  await applyRequests();

  return {
    take(key, plan, cost) {
      if (plan.partition === 'key') unsaved.add(key);
      return limiter.take(key, plan, cost);
    },

    async save() {
      await applyRequests();
      const saving = [...unsaved];
      if (saving.length === 0) return;
      unsaved.clear();
      const offsetMs = clock.utcOffsetMs();
      const states = saving.map((keyId) => {
        const state = limiter.inspect(keyId);
        return [keyId, state && JSON.stringify(shiftTimes(state, offsetMs))] as const;
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

/**
 * Adds `ms` to the times in a state. The table holds Unix times, because the next process has
 * another clock. In a ban, a time of 0 means "never" and stays 0.
 */
function shiftTimes({ buckets, ban }: KeyState, ms: number): KeyState {
  const shift = (instantMs: number) => (instantMs === 0 ? 0 : instantMs + ms);
  return {
    buckets: buckets.map((bucket) => ({ ...bucket, atMs: bucket.atMs + ms })),
    ...(ban && {
      ban: {
        ...ban,
        refusedAtMs: shift(ban.refusedAtMs),
        strikesAtMs: ban.strikesAtMs.map(shift),
        banEndMs: shift(ban.banEndMs),
        forgetAtMs: shift(ban.forgetAtMs),
      },
    }),
  };
}
