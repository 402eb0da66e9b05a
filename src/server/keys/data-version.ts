import { prepare } from '../../databases/sqlite/database.js';
import type { SqliteDatabase } from '../../orders/sqlite/index.js';

/**
 * A function that answers a number which changes when another connection, of whatever process, has written to the
 * file. It is looked up at most every `everyMs`, when asked; there is no timer.
 */
export function createDataVersion(database: SqliteDatabase, everyMs: number): () => bigint {
  const select = prepare(database, 'PRAGMA data_version');
  let version = -1n;
  let lookedMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (nowMs - lookedMs >= everyMs) {
      version = BigInt(select.get()?.['data_version'] ?? 0);
      lookedMs = nowMs;
    }
    return version;
  };
}
