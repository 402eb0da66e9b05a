import type { TestContext } from 'node:test';
import pg from 'pg';
import type { PostgresClient } from 'store-orders/postgres';
import type { Engine } from '../../../support/postgres-server.js';

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
}

/** Creates a pool that counts its queries. The pool is closed after the test. */
export function watchedPool(t: TestContext, connectionString: string, options?: string): WatchedClient {
  const pool = new pg.Pool({ connectionString, ...(options !== undefined && { options }) });
  pool.on('error', () => {});
  t.after(() => pool.end());
  const client: WatchedClient = {
    asked: 0,
    query(statement) {
      client.asked++;
      return pool.query(statement);
    },
  };
  return client;
}
