import { test } from 'node:test';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { besideStrangers } from './support/neighbours.js';

const seconds = Number(process.env['STORE_ORDERS_SECONDS'] ?? 2);
const engine = missingEngine ? undefined : await startEngine();

/** Kinds of strangers, each with its number of connections from one address. */
const STRANGERS = [
  ['without a key', 250],
  ['made-up keys', 250],
  ['non-readers', 250],
  ['connections', 250],
  ['slow heads', 256],
  ['slow bodies', 256],
  ['line breaks', 256],
  ['silence', 256],
  ['forty at a time', 4],
] as const;

for (const [kind, connections] of STRANGERS) {
  test(`customers over SQLite beside strangers: ${kind}`, (t) => besideStrangers(t, { kind, connections, seconds }));

  test(`customers over PostgreSQL beside strangers: ${kind}`, { skip: missingEngine }, async (t) => {
    const databaseUrl = await createDatabase(engine ?? (await startEngine()));
    await besideStrangers(t, { kind, connections, seconds, databaseUrl });
  });
}
