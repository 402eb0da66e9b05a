// A program that wrote test/server/storage/formats: an SQLite file and an SQL dump of PostgreSQL
// tables, as one version of the program leaves them, and the keys in them. Run it once for each
// version that changes a format:
// node --import tsx test/server/storage/support/old-formats-process.ts ROOT VERSION
// ROOT is a built checkout of that version.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createDatabase } from '../../../databases/postgres/support/database.js';
import { startEngine } from '../../../support/postgres-server.js';

const [root = '.', version = ''] = process.argv.slice(2);
const folder = fileURLToPath(new URL('../formats/', import.meta.url));
const file = join(folder, `${version}.db`);
const bin = resolve(root, 'dist/server/main.js');

/** Runs commands that store orders and keys. Returns the keys. */
function fill(...storage: readonly string[]) {
  const run = (input: string, ...args: readonly string[]) =>
    execFileSync(process.execPath, [bin, ...args, ...storage, '--json'], { input, encoding: 'utf8' });
  const issue = (...args: readonly string[]) => JSON.parse(run('', 'keys', 'create', ...args));
  run(
    `{"id":9223372036854775807,"petId":-9223372036854775808,"quantity":3,"shipDate":"2026-07-16T00:00:00Z","complete":true}
{"id":-1,"complete":false,"status":"shipped"}
{"id":0,"status":"on_hold"}
{"id":7}
`,
    ...['orders', 'import', '-', '--statuses', 'on_hold'],
  );
  run('', 'orders', 'cancel', '7');
  const agreed = issue('--plan', 'enterprise', '--per-minute', '5', '--per-day', '9', '--name', 'Ann');
  const banned = issue('--plan', 'free');
  const revoked = issue('--plan', 'pro');
  run('', 'keys', 'revoke', revoked.id);
  return { run, keys: { agreed, banned, revoked } };
}

rmSync(file, { force: true });
const { run, keys } = fill('--db', file);
// A server saves quotas, and a command then requests a change of them.
const { createMemoryLimiter, createPlan, createSystemClock, perDay, perMinute } = await import(
  pathToFileURL(resolve(root, 'dist/limits/index.js')).href
);
const { openSqliteStorage, withSavedQuotas } = await import(pathToFileURL(resolve(root, 'dist/server/index.js')).href);
const { data } = openSqliteStorage(file);
const clock = createSystemClock();
const limiter = createMemoryLimiter({ clock });
const saved = await withSavedQuotas({ limiter, clock, table: data.quotas });
const plan = createPlan({ name: 'enterprise', policies: [perMinute(5), perDay(9)] });
for (let taken = 0; taken < 4; taken++) saved.take(keys.agreed.id, plan);
await saved.save();
await data.close();
run('', 'ban', 'set', keys.banned.id, '--for', '365d');
for (const suffix of ['-wal', '-shm', '-server']) rmSync(file + suffix, { force: true });

const url = await createDatabase(await startEngine());
const tables = fill('--database-url', url);
// Only psql understands lines with a backslash.
const dump = execFileSync('pg_dump', ['--inserts', '--no-owner', url], { encoding: 'utf8' });
writeFileSync(join(folder, `${version}.sql`), `-- cspell:disable\n${dump.replaceAll(/^(?:\\|--|$).*\n/gm, '')}`);
writeFileSync(
  join(folder, `${version}.json`),
  `${JSON.stringify({ spelling: 'cspell:disable', file: keys, tables: tables.keys }, undefined, 2)}\n`,
);
// The PostgreSQL server stops with this process.
process.exit();
