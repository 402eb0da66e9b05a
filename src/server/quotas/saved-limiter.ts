import { checkFields, checkMethods } from '../../check.js';
import type { BanState, Clock, KeyState, MemoryLimiter, RateLimiter } from '../../limits/index.js';
import type { PendingRequest, SavedQuotas } from './table.js';

/**
 * A limiter whose quotas survive a restart. Quotas of addresses are not saved, because strangers
 * could fill the table with addresses.
 */
export interface SavedLimiter extends RateLimiter {
  take: MemoryLimiter['take'];
  /**
   * Applies the changes that other processes requested, and saves all changed quotas in one
   * transaction. Call it about every half second, and before the database is closed. Never rejects:
   * a failure is returned as `error`, and the next call tries again.
   */
  save(): Promise<{ readonly ok: true } | { readonly ok: false; readonly error: unknown }>;
}

export interface SavedLimiterOptions {
  readonly limiter: MemoryLimiter;
  /** The limiter's clock. */
  readonly clock: Clock;
  readonly table: SavedQuotas;
}

const OPTION_NAMES: Readonly<Record<keyof SavedLimiterOptions, true>> = { limiter: true, clock: true, table: true };

/**
 * Loads the saved quotas into the limiter, so that a restart does not refill a quota. From then on,
 * tracks which keys have changed. Rejects if the saved quotas cannot be read.
 */
export function withSavedQuotas(options: SavedLimiterOptions): Promise<SavedLimiter> {
  checkFields('options', options, Object.keys(OPTION_NAMES));
  const { limiter, clock, table } = options;
  checkMethods('limiter', limiter, ['take', 'inspect', 'restore', 'reset', 'ban', 'unban']);
  checkMethods('clock', clock, ['nowMs', 'utcOffsetMs']);
  checkMethods('table', table, ['load', 'pending', 'save']);
  const unsaved = new Set<string>();
  let appliedSeq = 0n;

  /**
   * Applies the requested changes, except those that were applied before. A change that could not
   * be removed from the table is read again. Returns the number of the last change, or 0 for an
   * empty list.
   */
  function apply(requests: readonly PendingRequest[]): bigint {
    let lastSeq = 0n;
    for (const { seq, keyId, request } of requests) {
      lastSeq = seq;
      if (seq <= appliedSeq) continue;
      if (request === 'reset') limiter.reset(keyId);
      else if (request === 'lift_ban') limiter.unban(keyId);
      else ban(keyId, Number(request.slice('ban '.length)));
      appliedSeq = seq;
      unsaved.add(keyId);
    }
    return lastSeq;
  }

  function ban(keyId: string, untilMs: number): void {
    const leftMs = untilMs - clock.nowMs() - clock.utcOffsetMs();
    // A ban that has less than a millisecond left is not applied.
    if (leftMs >= 1) limiter.ban(keyId, Math.ceil(leftMs));
  }

  async function save(): ReturnType<SavedLimiter['save']> {
    let saving: string[] = [];
    try {
      const lastSeq = apply(await table.pending());
      if (unsaved.size === 0 && lastSeq === 0n) return { ok: true };
      saving = [...unsaved];
      unsaved.clear();
      const offsetMs = clock.utcOffsetMs();
      const states = saving.map((keyId) => [keyId, shifted(limiter.inspect(keyId), offsetMs)] as const);
      await table.save(states, lastSeq);
      return { ok: true };
    } catch (error) {
      for (const keyId of saving) unsaved.add(keyId);
      return { ok: false, error };
    }
  }

  async function load(): Promise<SavedLimiter> {
    for (const [keyId, state] of await table.load()) {
      const restored = shifted(state, -clock.utcOffsetMs());
      if (restored !== undefined) limiter.restore(keyId, restored);
    }
    // Changes that commands requested while no server ran are applied before the first `take`.
    apply(await table.pending());
    return {
      take(key, plan, cost) {
        if (plan.partition === 'key') unsaved.add(key);
        return limiter.take(key, plan, cost);
      },
      save,
    };
  }

  return load();
}

/**
 * Adds `ms` to the times in a state. The table holds Unix times, because the next process has
 * another clock. In a ban, a time of 0 means "never" and stays 0.
 */
function shifted(state: KeyState | undefined, ms: number): KeyState | undefined {
  if (state === undefined || ms === 0) return state;
  const { buckets, ban } = state;
  return {
    buckets: buckets.map((bucket) => ({ ...bucket, atMs: bucket.atMs + ms })),
    ...(ban !== undefined && { ban: shiftedBan(ban, ms) }),
  };
}

function shiftedBan(ban: BanState, ms: number): BanState {
  const shift = (instantMs: number) => (instantMs === 0 ? 0 : instantMs + ms);
  return {
    ...ban,
    refusedAtMs: shift(ban.refusedAtMs),
    strikesAtMs: ban.strikesAtMs.map(shift),
    banEndMs: shift(ban.banEndMs),
    forgetAtMs: shift(ban.forgetAtMs),
  };
}
