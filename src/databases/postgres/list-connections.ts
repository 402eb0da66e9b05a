import { holdConnection, type PostgresClient, type PostgresPool } from './client.js';
import { createTurns } from './turns.js';

/**
 * Returns a generator that runs `read` in a read-only transaction on a connection of its own. The
 * transaction sees one snapshot, taken at the first step of the generator.
 */
export type SnapshotReader = <T>(read: (client: PostgresClient) => AsyncIterable<T>) => AsyncGenerator<T>;

/** The most connections that read long lists at the same time. */
const MOST_OPEN = 4;
/** How long a reader waits for a connection before its list fails. */
const PATIENCE_MS = 5_000;

/**
 * Creates a function that reads snapshots over a pool, with at most four of the pool's connections
 * at a time. If a reader stops early, its connection is closed, because a ROLLBACK might time out.
 */
export function createSnapshotReader(connect: NonNullable<PostgresPool['connect']>): SnapshotReader {
  const turns = createTurns(MOST_OPEN);

  return async function* readSnapshot(read) {
    if (!(await turns.take(PATIENCE_MS))) throw new Error('every connection for long lists is in use');
    try {
      const client = await holdConnection(connect);
      let isDone = false;
      try {
        await client.query({ text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' });
        yield* read(client);
        await client.query({ text: 'COMMIT' });
        isDone = true;
      } finally {
        client.release(!isDone);
      }
    } finally {
      turns.end();
    }
  };
}
