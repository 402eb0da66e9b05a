import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';

/**
 * The writes of quotas, as part of a transaction. See `OrderWrites` in `orders/sqlite/writes.ts`.
 */
export type QuotaWrites = {
  /** Stores states as JSON (`null` removes a state), and removes the requests up to `upToSeq`. */
  saveQuotas(states: readonly (readonly [keyId: string, json: string | null])[], upToSeq: bigint): void;
};

/** The URL of this module. The thread that writes imports it. */
export const QUOTA_WRITES = import.meta.url;

/** Prepares the statements. The tables must exist. */
export function prepareWrites(database: SqliteDatabase): QuotaWrites {
  const upsert = prepare(database, 'INSERT OR REPLACE INTO quotas VALUES (?, ?)');
  const remove = prepare(database, 'DELETE FROM quotas WHERE key_id = ?');
  const removeRequests = prepare(database, 'DELETE FROM quota_requests WHERE seq <= ?');
  return {
    saveQuotas(states, upToSeq) {
      for (const [keyId, json] of states) {
        if (json === null) remove.run(keyId);
        else upsert.run(keyId, json);
      }
      removeRequests.run(upToSeq);
    },
  };
}
