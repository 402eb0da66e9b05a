import pg from 'pg';
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
