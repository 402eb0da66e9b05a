import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeRecords } from '../../../limits/redis/support/records.js';
import { type Program, programIn, startServer } from '../../../program/support/program.js';
import { dumpDatabase, startPostgres } from '../../../support/postgres-server.js';
import { startRedis } from '../../../support/redis-server.js';
import { FORMATS, VERSION } from './formats.js';

// Writes what the built version stores, as files in `formats`: a database, a dump of PostgreSQL's
// tables, the records of Redis, and the keys that were printed. Run this once for each version
// whose formats differ. It needs PostgreSQL and Redis.

const ORDERS = `{"id":-1,"complete":false,"status":"shipped"}
{"id":0,"status":"on_hold"}
{"id":7}
{"id":9223372036854775807,"petId":-9223372036854775808,"quantity":3,"shipDate":"2026-07-16T00:00:00Z","complete":true}
`;

const fileOf = (name: string) => fileURLToPath(new URL(`${VERSION}${name}`, FORMATS));

async function store({ output, json }: Program) {
  await output('orders import - --statuses on_hold', ORDERS);
  await output('orders cancel 7');
  const agreed = Object(await json('keys create --plan enterprise --per-minute 5 --per-day 9 --name Ann'));
  const banned = Object(await json('keys create --plan free'));
  const revoked = Object(await json('keys create --plan pro'));
  const expired = Object(await json('keys create --plan pro --expires 1s'));
  await output(`keys revoke ${revoked.id}`);
  return { agreed, banned, revoked, expired };
}

const program = programIn();
const file = await store(program);
const server = await startServer({ after() {} }, { cwd: program.cwd });
for (let n = 0; n < 4; n++) await server.get(file.agreed.key);
const ban = `ban set ${file.banned.id} --for 365d`;
await program.output(ban);
await server.stop('SIGTERM');
await program.output(ban);
await program.output('db backup backup.db');

const engine = await startPostgres();
const tables = await store(programIn({ env: { DATABASE_URL: engine.url } }));
const dump = await dumpDatabase(engine.url);
await engine.stop();

const redis = await startRedis();
const records = await writeRecords(redis.client);
await redis.stop();

const json = (value: object) => `${JSON.stringify({ spelling: 'cspell:disable', ...value }, undefined, 2)}\n`;
writeFileSync(fileOf('.json'), json({ file, tables }));
writeFileSync(fileOf('.sql'), `-- cspell:disable\n${dump}`);
writeFileSync(fileOf('-redis.json'), json(records));
copyFileSync(join(program.cwd, 'backup.db'), fileOf('.db'));
