import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';

/** The writes of quotas, each a part of a transaction. See `OrderWrites`. */
export type QuotaWrites = {
  /**
   * Stores states as JSON (`null` removes a state), and removes applied requests up to `upToSeq`.
   */
  saveQuotas(states: readonly (readonly [keyId: string, json: string | null])[], upToSeq: bigint): void;
};

/** This module, for the thread that writes. */
export const QUOTA_WRITES = import.meta.url;

/** Prepares the writes of a database that has the tables. */
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
