import { prepare, type SqliteDatabase, type SqliteRow } from '../../databases/sqlite/database.js';

/** The database reads that authenticate requests. */
export type KeyReads = {
  /**
   * Returns a number that changes when another connection, of this process or any other, writes to
   * the file.
   */
  dataVersion(): bigint;
  /** Returns the row of the key with this digest, unless the key is revoked. */
  keyByDigest(digest: string): SqliteRow | undefined;
};

/** The URL of this module. The thread that reads the database imports the module from there. */
export const KEY_READS = import.meta.url;

/** Prepares the statements. The tables must exist. */
export function prepareReads(database: SqliteDatabase): KeyReads {
  const selectVersion = prepare(database, 'PRAGMA data_version');
  const selectByDigest = prepare(database, 'SELECT * FROM keys WHERE digest = ? AND revoked_at IS NULL');
  return {
    dataVersion: () => BigInt(selectVersion.get()?.['data_version'] ?? 0),
    keyByDigest: (digest) => selectByDigest.get(digest),
  };
}
