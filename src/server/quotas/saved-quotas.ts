import * as v from 'valibot';
import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import type { WriteQueue } from '../../databases/sqlite/group-commit.js';
import type { Clock } from '../../limits/clock.js';
import type { KeyState } from '../../limits/limiter.js';
import type { StatefulLimiter } from '../../limits/memory/limiter.js';

/**
 * A change of a key's quotas, which a command writes into the database for the running server. The
 * number after `ban` is the end of the ban, in Unix milliseconds.
 */
type QuotaRequest = 'reset' | 'lift_ban' | `ban ${number}`;

interface PendingRequest {
  /** Ascending, and never reused. */
  readonly seq: bigint;
  readonly keyId: string;
  readonly request: string;
}

/** The saved quotas of keys, as commands use them. All times are Unix times. */
export interface QuotaTable {
  /** Resolves to the states of all keys, or only of `keyId`. */
  load(keyId?: string): Promise<readonly (readonly [keyId: string, state: KeyState])[]>;
  /** Resolves to the changes that commands have requested from the server. */
  pending(): Promise<readonly PendingRequest[]>;
  /**
   * Saves states, and removes the requested changes up to number `upToSeq`, in one transaction. The
   * state of a key with full quotas is `undefined`.
   */
  save(states: readonly (readonly [keyId: string, state: KeyState | undefined])[], upToSeq: bigint): Promise<void>;
  /** Requests a change. The server that loads the quotas, or has loaded them, applies it. */
  request(keyId: string, request: QuotaRequest): Promise<void>;
}

/** The saved quotas, as the server loads and saves them. */
export type SavedQuotas = Omit<QuotaTable, 'request'>;

export interface QuotaStorage<Table = SavedQuotas> {
  /** The storage's name in messages, without a password. */
  readonly name: string;
  /** Absent only if the storage is PostgreSQL. The settings then name a Redis server. */
  readonly quotas?: Table;
}

export function present<Table>(quotas: Table | undefined): Table {
  if (quotas === undefined) throw new TypeError('the storage has no table of quotas');
  return quotas;
}

const integerSchema = v.pipe(v.number(), v.safeInteger());
const stateSchema = v.object({
  buckets: v.array(
    v.object({
      name: v.string(),
      refill: v.picklist(['interval', 'continuous']),
      ...v.entriesFromList(['windowMs', 'taken', 'atMs'], integerSchema),
    }),
  ),
  ban: v.exactOptional(
    v.object({
      strikesAtMs: v.array(integerSchema),
      ...v.entriesFromList(['refusedAtMs', 'forgiven', 'banEndMs', 'banMs', 'level', 'forgetAtMs'], integerSchema),
    }),
  ),
});

/** Creates a {@link QuotaTable} on a database that already has the tables. */
export function createQuotaTable(database: SqliteDatabase, { write }: WriteQueue): QuotaTable {
  const selectAll = prepare(database, 'SELECT key_id, state FROM quotas');
  const selectOne = prepare(database, 'SELECT key_id, state FROM quotas WHERE key_id = ?');
  const selectRequests = prepare(database, 'SELECT seq, key_id, request FROM quota_requests ORDER BY seq');
  const upsert = prepare(database, 'INSERT OR REPLACE INTO quotas VALUES (?, ?)');
  const remove = prepare(database, 'DELETE FROM quotas WHERE key_id = ?');
  const insertRequest = prepare(database, 'INSERT INTO quota_requests (key_id, request) VALUES (?, ?)');
  const removeRequests = prepare(database, 'DELETE FROM quota_requests WHERE seq <= ?');

  return {
    async load(keyId) {
      const rows = keyId === undefined ? selectAll.all() : selectOne.all(keyId);
      return rows.map(({ key_id, state }) => [`${key_id}`, v.parse(stateSchema, JSON.parse(`${state}`))]);
    },

    pending: async () =>
      selectRequests.all().map(({ seq, key_id, request }) => {
        return { seq: BigInt(seq ?? 0), keyId: `${key_id}`, request: `${request}` };
      }),

    save: (states, upToSeq) =>
      write(() => {
        for (const [keyId, state] of states) {
          if (state === undefined) remove.run(keyId);
          else upsert.run(keyId, JSON.stringify(state));
        }
        removeRequests.run(upToSeq);
      }),

    request: (keyId, request) => write(() => insertRequest.run(keyId, request)),
  };
}

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
 * Loads the saved quotas of all keys, or only of `onlyKeyId`, into the limiter, so that a restart does
 * not refill a quota. From then on, tracks which keys have changed. `clock` is the limiter's clock.
 */
export async function withSavedQuotas(
  limiter: StatefulLimiter,
  clock: Clock,
  table: SavedQuotas,
  onlyKeyId?: string,
): Promise<SavedLimiter> {
  const unsaved = new Set<string>();
  let appliedSeq = 0n;

  async function applyRequests(): Promise<void> {
    for (const { seq, keyId, request } of await table.pending()) {
      // A change stays in the table until it can be removed, but it must be applied only once.
      if (seq <= appliedSeq) continue;
      appliedSeq = seq;
      unsaved.add(keyId);
      if (request === 'reset') limiter.reset(keyId);
      else if (request === 'lift_ban') limiter.unban(keyId);
      else ban(keyId, Number(request.slice('ban '.length)));
    }
  }

  function ban(keyId: string, untilMs: number): void {
    const leftMs = untilMs - clock.nowMs() - clock.utcOffsetMs();
    // A ban that has less than a millisecond left is not applied.
    if (leftMs >= 1) limiter.ban(keyId, Math.ceil(leftMs));
  }

  for (const [keyId, state] of await table.load(onlyKeyId))
    limiter.restore(keyId, shifted(state, -clock.utcOffsetMs()));
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
        return [keyId, state && shifted(state, offsetMs)] as const;
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
function shifted({ buckets, ban }: KeyState, ms: number): KeyState {
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
