import type { Clock, Conduct, KeyState, MemoryLimiter, RateLimiter } from '../limits/index.js';
import type { SqliteDatabase } from '../orders/sqlite.js';
import { transaction } from '../orders/sqlite-database.js';
import { createDataVersion } from './data-version.js';
import { createQuotaTable } from './quota-table.js';

/** A limiter whose quotas survive a restart. Addresses are not saved: they are bounded, and chosen by strangers. */
export interface SavedLimiter extends RateLimiter {
  take: MemoryLimiter['take'];
  /**
   * Does what other processes have requested, and saves what has changed since, in one transaction. Call it every half
   * second or so, and before the database is closed. Never throws: what could not be saved is kept for the next call,
   * and the answer says why.
   */
  save(): { readonly ok: true } | { readonly ok: false; readonly error: unknown };
}

export interface SavedLimiterOptions {
  readonly limiter: MemoryLimiter;
  /** The limiter's clock. */
  readonly clock: Clock;
  /** Open, with the program's tables. */
  readonly database: SqliteDatabase;
}

/**
 * Loads the saved quotas into the limiter, so that a restart gives nobody a fresh day, and from now on remembers whose
 * have changed. Throws if what was saved cannot be read.
 */
export function withSavedQuotas({ limiter, clock, database }: SavedLimiterOptions): SavedLimiter {
  const table = createQuotaTable(database);
  const dataVersion = createDataVersion(database, 0);
  const unsaved = new Set<string>();
  let savedVersion: bigint | undefined;
  let appliedSeq = 0n;

  /** A request is done once, even if its transaction has to be tried again. */
  function applyRequests(): void {
    let lastSeq = 0n;
    for (const { seq, keyId, request } of table.pending()) {
      lastSeq = seq;
      if (seq <= appliedSeq) continue;
      if (request === 'reset') limiter.reset(keyId);
      else limiter.unban(keyId);
      appliedSeq = seq;
      unsaved.add(keyId);
    }
    if (lastSeq > 0n) table.removePending(lastSeq);
  }

  function save(): ReturnType<SavedLimiter['save']> {
    try {
      const version = dataVersion();
      if (version === savedVersion && unsaved.size === 0) return { ok: true };
      transaction(database, () => {
        applyRequests();
        for (const keyId of unsaved) table.set(keyId, shifted(limiter.inspect(keyId), clock.utcOffsetMs()));
      });
      unsaved.clear();
      savedVersion = version;
      return { ok: true };
    } catch (error) {
      return { ok: false, error };
    }
  }

  for (const [keyId, state] of table.all()) {
    const restored = shifted(state, -clock.utcOffsetMs());
    if (restored !== undefined) limiter.restore(keyId, restored);
  }
  // What was requested while nobody had the quotas in memory is done before anything is taken.
  save();

  return {
    take(key, plan, cost) {
      if (plan.partition === 'key') unsaved.add(key);
      return limiter.take(key, plan, cost);
    },
    save,
  };
}

/**
 * The state with its instants moved. They are saved in Unix time, because the limiter's clock is another one in the
 * next process; an instant of 0 is none and stays.
 */
export function shifted(state: KeyState | undefined, ms: number): KeyState | undefined {
  if (state === undefined || ms === 0) return state;
  const { buckets, conduct } = state;
  return {
    buckets: buckets.map((bucket) => ({ ...bucket, atMs: bucket.atMs + ms })),
    ...(conduct !== undefined && { conduct: shiftedConduct(conduct, ms) }),
  };
}

function shiftedConduct(conduct: Conduct, ms: number): Conduct {
  const shift = (instantMs: number) => (instantMs === 0 ? 0 : instantMs + ms);
  return {
    ...conduct,
    refusedAtMs: shift(conduct.refusedAtMs),
    strikesEndMs: shift(conduct.strikesEndMs),
    banEndMs: shift(conduct.banEndMs),
    forgetAtMs: shift(conduct.forgetAtMs),
  };
}
