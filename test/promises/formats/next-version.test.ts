import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SCHEMAS } from '../../../dist/program/storage/program-parts.js';
import { writeNextVersion } from '../../program/support/next-version.js';
import { issueKey, programIn, startServer } from '../../program/support/program.js';

/** The versions of the tables of this program. */
const { orders: { length: orders } = [], program: { length: program } = [] } = SCHEMAS;

const READS = ['orders show 7', 'orders list', 'orders export', 'keys list', 'quota list', 'quota show key_a'];
const WRITES = ['orders ship 7', 'orders import -', 'keys create --plan free', 'quota reset key_a'];

test('no command of a next version migrates a file; db check and db backup read it as it is, and its server migrates it', async (t) => {
  const old = programIn();
  const options = { cwd: old.cwd, main: writeNextVersion() };
  const next = programIn(options);
  const { key } = await issueKey(old.cwd, 'free');
  await old.output('orders import -', '{"id":7}');
  const file = join(old.cwd, 'store-orders.db');
  const server = await startServer(t, { cwd: old.cwd });
  for (const command of [...READS, ...WRITES]) {
    assert.equal(
      await next.failure(command, '{"id":8}'),
      `cannot open store-orders.db: the orders schema has version ${orders}, but this program needs version ${orders + 1}; start its server, which migrates the file`,
      command,
    );
  }
  assert.match(await next.failure('serve --port 0'), /: another server runs on it; /);
  const versions = `orders ${orders} (this program: ${orders + 1}); program ${program} (this program: ${program + 1})`;
  assert.ok((await next.output('db check')).includes(`\nschema    ${versions}\n`));
  await next.output('db backup copy.db');
  assert.equal(await (await server.get(key)).text(), '[{"id":7}]');
  await server.stop('SIGTERM');
  const before = readFileSync(file);
  assert.match(await next.failure('orders show 7'), /start its server/);
  assert.ok(readFileSync(file).equals(before));

  const upgraded = await startServer(t, options);
  assert.equal(await (await upgraded.get(key)).text(), '[{"id":7}]');
  assert.match(await next.output('orders show 7'), /pending/);
  await upgraded.stop('SIGTERM');
  // Only a server migrates what the old version has backed up.
  await next.output('db restore copy.db');
  assert.match(await next.failure('keys list'), /start its server/);
});
