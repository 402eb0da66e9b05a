import type { Connect, PostgresClient } from '../../databases/postgres/client.js';
import { beginTransaction } from '../../databases/postgres/transaction.js';
import { createTurns } from '../../databases/postgres/turns.js';

/**
 * Returns a generator that runs `read` in a read-only transaction on a connection of its own. The
 * transaction sees one snapshot, taken at the first step of the generator.
 */
export type SnapshotReader = <T>(read: (client: PostgresClient) => AsyncIterable<T>) => AsyncGenerator<T>;

/** The most connections that read long lists at the same time. */
const MOST_OPEN = 4;
/** How long a reader waits for a connection before its list fails. */
const PATIENCE_MS = 5_000;

const BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/**
 * Creates a function that reads snapshots over a pool, with at most four of the pool's connections
 * at a time. Each transaction begins with `statements`. If a reader stops early, its connection is
 * closed, because a ROLLBACK might time out.
 */
export function createSnapshotReader(connect: Connect, ...statements: readonly string[]): SnapshotReader {
  const turns = createTurns(MOST_OPEN);

  return async function* readSnapshot(read) {
    if (!(await turns.take(PATIENCE_MS))) throw new Error('every connection for long lists is in use');
    try {
      const transaction = await beginTransaction(connect, BEGIN, ...statements);
      try {
        yield* read(transaction);
        await transaction.commit();
      } finally {
        transaction.end();
      }
    } finally {
      turns.end();
    }
  };
}
