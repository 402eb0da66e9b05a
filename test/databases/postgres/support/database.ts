import type { TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import type { PostgresClient } from 'store-orders/postgres';
import { until } from '../../../server/support/program.js';
import type { Engine } from './engine.js';

let count = 0;

/** An empty database of the engine, by its URL. */
export async function createDatabase(engine: Engine): Promise<string> {
  const name = `test${count++}`;
  const client = new pg.Client(engine.url);
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return engine.url.replace('/postgres?', `/${name}?`);
}

export interface WatchedClient extends PostgresClient {
  /** How often it was asked. */
  asked: number;
  /** When set, an answer that is there is handed over only after this. */
  late: Promise<void> | undefined;
  /** Resolves when the database has answered everything. */
  idle(): Promise<void>;
}

/** A pool whose queries are counted and can be held up. Closed after the test. */
export function watchedPool(t: TestContext, connectionString: string, options?: string): WatchedClient {
  const pool = new pg.Pool({ connectionString, ...(options !== undefined && { options }) });
  pool.on('error', () => {});
  t.after(() => pool.end());
  let open = 0;
  const client: WatchedClient = {
    asked: 0,
    late: undefined,
    async query(text, values) {
      client.asked++;
      const { late } = client;
      open++;
      const result = await pool.query(text, values).finally(() => open--);
      await late;
      return result;
    },
    async idle() {
      await until(() => open === 0);
      // Whoever waited for an answer has had it then.
      await setImmediate();
    },
  };
  return client;
}
