import { prepare, type SqliteDatabase, type SqliteRow } from '../../databases/sqlite/database.js';

/** The reads of keys that a request needs. */
export type KeyReads = {
  /**
   * Returns a number that changes when another connection, of any process, has written to the file.
   */
  dataVersion(): bigint;
  /** Returns the row of a key that is not revoked. */
  keyByDigest(digest: string): SqliteRow | undefined;
};

/** This module, for the thread that reads. */
export const KEY_READS = import.meta.url;

/** Prepares the reads of a database that has the tables. */
export function prepareReads(database: SqliteDatabase): KeyReads {
  const selectVersion = prepare(database, 'PRAGMA data_version');
  const selectByDigest = prepare(database, 'SELECT * FROM keys WHERE digest = ? AND revoked_at IS NULL');
  return {
    dataVersion: () => BigInt(selectVersion.get()?.['data_version'] ?? 0),
    keyByDigest: (digest) => selectByDigest.get(digest),
  };
}
