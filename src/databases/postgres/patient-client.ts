import { type Connect, codeOf, holdConnection, type PostgresClient } from './client.js';
import { createTurns } from './turns.js';

export interface PatienceOptions {
  /** The most statements that the server runs at a time. */
  readonly most: number;
  /** How long a caller waits for the reply. */
  readonly replyMs: number;
  /** Asks on a new connection whether the server runs any statement of this program for long. */
  hasLongStatement(): Promise<boolean>;
}

/** Lets go of the connection of a statement, and closes it if `destroy` is true. */
type End = (destroy: boolean) => void;

/** How long a caller waits for a place, which is free unless statements are overdue. */
const PLACE_MS = 1_000;
/** The pause before each question about overdue statements. */
const ASK_MS = 1_000;
/** The SQLSTATE code of a write to a read-only server. After a failover, another one may be at its address. */
const READ_ONLY = '25006';
/** Takes the place of the pool's own limit, which would close the connection. */
const NO_LIMIT = { query_timeout: 2 ** 31 - 1 };

/**
 * Creates a client that runs at most `most` statements at a time. A statement keeps its place until
 * the server has ended it, even if its caller no longer waits, because closing the connection does
 * not end a commit that waits for a lost replica. After a failover, or if the network has lost the
 * reply, no reply comes. So while a statement is overdue, the server is asked once a second whether
 * any still runs. If none does, the connections are closed.
 */
export function createPatientClient(
  connect: Connect,
  { most, replyMs, hasLongStatement }: PatienceOptions,
): PostgresClient & { abandon(): void } {
  const places = createTurns(most);
  /** The statements that the server has received, and those whose callers no longer wait. */
  const running = new Set<End>();
  const overdue = new Set<End>();
  let isAsking = false;

  async function ask(): Promise<void> {
    const asked = [...overdue];
    isAsking = asked.length > 0;
    if (!isAsking) return;
    // A server that cannot be asked may still run them.
    const isLong = await hasLongStatement().catch(() => true);
    if (!isLong) for (const end of asked) end(true);
    setTimeout(ask, ASK_MS).unref();
  }

  return {
    async query(statement) {
      if (!(await places.take(PLACE_MS))) throw new Error(`the database has not ended ${most} earlier statements`);
      const client = await holdConnection(connect).catch((error) => {
        places.end();
        throw error;
      });
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          overdue.add(end);
          if (!isAsking) setTimeout(ask, ASK_MS).unref();
          isAsking = true;
          reject(new Error(`the database has not replied within ${replyMs / 1_000} s; is a synchronous replica lost?`));
        }, replyMs);
        function end(destroy: boolean): void {
          if (!running.delete(end)) return;
          overdue.delete(end);
          clearTimeout(timer);
          client.release(destroy);
          places.end();
        }
        running.add(end);
        const replied = client.query({ ...statement, ...NO_LIMIT });
        replied.catch(codeOf).then((reply) => end(reply === READ_ONLY));
        replied.then(resolve, reject);
      });
    },

    /** Closes the connections of all statements, whatever the server does with them. */
    abandon() {
      for (const end of running) end(true);
    },
  };
}
