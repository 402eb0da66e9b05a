import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';

/**
 * Functions that write quotas inside a transaction of the caller. See `OrderWrites` in
 * `orders/sqlite/writes.ts`.
 */
export type QuotaWrites = {
  /**
   * Stores states as JSON (`null` removes a state), and removes the requested changes up to number
   * `upToSeq`.
   */
  saveQuotas(states: readonly (readonly [keyId: string, json: string | null])[], upToSeq: bigint): void;
};

/** The URL from which the writing thread imports this module. */
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
