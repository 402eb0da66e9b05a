// A program that wrote the PostgreSQL tables in test/server/storage/formats: an SQL dump of the
// tables as one version of the program leaves them, and the keys in them. Run it once for each
// version that changes the tables:
// node --import tsx test/server/storage/support/old-tables-process.ts ROOT VERSION
// ROOT is a built checkout of that version.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createDatabase } from '../../../databases/postgres/support/database.js';
import { startEngine } from '../../../support/postgres-server.js';

const [root = '.', version = ''] = process.argv.slice(2);
const bin = resolve(root, 'dist/server/main.js');
const url = await createDatabase(await startEngine());
const run = (input: string, ...args: readonly string[]) =>
  execFileSync(process.execPath, [bin, ...args, '--database-url', url, '--json'], { input, encoding: 'utf8' });
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
const revoked = issue('--plan', 'pro');
run('', 'keys', 'revoke', revoked.id);

const dump = execFileSync('pg_dump', ['--inserts', '--no-owner', url], { encoding: 'utf8' });
// Only psql understands lines with a backslash.
const statements = dump.replaceAll(/^(?:\\|--|$).*\n/gm, '');
const keys = JSON.stringify({ agreed, revoked });
const folder = new URL('../formats/', import.meta.url);
writeFileSync(new URL(`${version}.sql`, folder), `-- ${keys}\n-- cspell:disable\n${statements}`);
// The PostgreSQL server stops with this process.
process.exit();
