import type { TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import type { PostgresClient } from 'store-orders/postgres';
import type { Engine } from '../../../support/postgres-server.js';
import { until } from '../../../support/until.js';

let count = 0;

/** Creates an empty database on the PostgreSQL server. Returns the URL of the database. */
export async function createDatabase(engine: Engine): Promise<string> {
  const name = `test${count++}`;
  const client = new pg.Client(engine.url);
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return engine.url.replace('/postgres?', `/${name}?`);
}

export interface WatchedClient extends PostgresClient {
  /** How many queries were started. */
  asked: number;
  /** If set, results are delayed until this promise resolves. */
  late: Promise<void> | undefined;
  /** Resolves when the database has no query in progress. */
  idle(): Promise<void>;
}

/**
 * Creates a pool that counts its queries and can delay their results. The pool is closed after the
 * test.
 */
export function watchedPool(t: TestContext, connectionString: string, options?: string): WatchedClient {
  const pool = new pg.Pool({ connectionString, ...(options !== undefined && { options }) });
  pool.on('error', () => {});
  t.after(() => pool.end());
  let open = 0;
  const client: WatchedClient = {
    asked: 0,
    late: undefined,
    async query(statement) {
      client.asked++;
      const { late } = client;
      open++;
      const result = await pool.query(statement).finally(() => open--);
      await late;
      return result;
    },
    async idle() {
      await until(() => open === 0);
      // After one more pass of the event loop, every result that is not delayed has reached its
      // caller.
      await setImmediate();
    },
  };
  return client;
}
