import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import type { WriteQueue } from '../../databases/sqlite/group-commit.js';

/** A change of a key's quotas, which a command writes into the database for the running server. */
interface PendingRequest {
  /** Ascending, and never reused. */
  readonly seq: bigint;
  readonly keyId: string;
  /** `reset`, `lift_ban` or `ban`. */
  readonly action: string;
  /** The end of a ban. Otherwise 0. */
  readonly untilMs: number;
}

/** The saved quotas of keys, as commands use them. All times are Unix times. */
export interface QuotaTable {
  /** Resolves to the states of all keys, or only of `keyId`, as JSON. */
  load(keyId?: string): Promise<readonly (readonly [keyId: string, state: string])[]>;
  /** Resolves to the changes that commands have requested from the server. */
  pending(): Promise<readonly PendingRequest[]>;
  /**
   * Saves states, and removes the requested changes up to number `upToSeq`, in one transaction. The
   * state of a key with full quotas is `undefined`.
   */
  save(states: readonly (readonly [keyId: string, state: string | undefined])[], upToSeq: bigint): Promise<void>;
  /** Requests a change. The server that loads the quotas, or has loaded them, applies it. */
  request(keyId: string, action: 'reset' | 'lift_ban'): Promise<void>;
  request(keyId: string, action: 'ban', untilMs: number): Promise<void>;
}

/** The saved quotas, as the server loads and saves them. */
export type SavedQuotas = Omit<QuotaTable, 'request'>;

/** Creates a {@link QuotaTable} on a database that already has the tables. */
export function createQuotaTable(database: SqliteDatabase, { write }: WriteQueue): QuotaTable {
  const selectAll = prepare(database, 'SELECT key_id, state FROM quotas');
  const selectOne = prepare(database, 'SELECT key_id, state FROM quotas WHERE key_id = ?');
  const selectRequests = prepare(database, 'SELECT * FROM quota_requests ORDER BY seq');
  const upsert = prepare(database, 'INSERT OR REPLACE INTO quotas VALUES (?, ?)');
  const remove = prepare(database, 'DELETE FROM quotas WHERE key_id = ?');
  const insertRequest = prepare(database, 'INSERT INTO quota_requests (key_id, action, until_ms) VALUES (?, ?, ?)');
  const removeRequests = prepare(database, 'DELETE FROM quota_requests WHERE seq <= ?');

  return {
    async load(keyId) {
      const rows = keyId === undefined ? selectAll.all() : selectOne.all(keyId);
      return rows.map(({ key_id, state }) => [`${key_id}`, `${state}`]);
    },

    pending: async () =>
      selectRequests.all().map(({ seq, key_id, action, until_ms }) => {
        return { seq: BigInt(seq ?? 0), keyId: `${key_id}`, action: `${action}`, untilMs: Number(until_ms) };
      }),

    save: (states, upToSeq) =>
      write(() => {
        for (const [keyId, state] of states) {
          if (state === undefined) remove.run(keyId);
          else upsert.run(keyId, state);
        }
        removeRequests.run(upToSeq);
      }),

    request: (keyId: string, action: string, untilMs?: number) =>
      write(() => insertRequest.run(keyId, action, untilMs === undefined ? null : BigInt(untilMs))),
  };
}
