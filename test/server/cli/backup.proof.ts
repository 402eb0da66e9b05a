import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { answerOf, issueKey, run, spawnProgram, startServer, until } from '../support/program.js';

/** Creates a directory with a database of `count` pending orders, whose ids begin at 1. */
async function withOrders(count: number): Promise<string> {
  const cwd = temporaryDirectory();
  await answerOf(['orders', 'import', '-'], { cwd, input: '{"id":1}' });
  const database = openSqliteDatabase(join(cwd, 'store-orders.db'));
  database.exec(
    `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO orders SELECT i, i, 1, NULL, NULL, 'pending' FROM n`,
  );
  database.close();
  return cwd;
}

test('if a signal stops db backup, no partial file remains', async () => {
  const cwd = await withOrders(600_000);
  const child = spawnProgram(['db', 'backup', 'copy.db'], { cwd });
  const exited = once(child, 'exit');
  await until(() => readdirSync(cwd).some((name) => name.endsWith('.partial') && statSync(join(cwd, name)).size > 0));
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [null, 'SIGTERM']);
  assert.deepEqual(
    readdirSync(cwd).filter((name) => name.startsWith('copy')),
    [],
  );
});

test('a backup made while a server cancels orders contains every cancel that was acknowledged before the backup began', async (t) => {
  const cwd = await withOrders(60_000);
  const server = await startServer(t, { cwd }, '--log', 'events');
  const { key } = await issueKey(cwd, 'enterprise', '--per-minute', '1000000000', '--per-day', '1000000000');
  const answered: number[] = [];
  let isOver = false;
  let next = 1;
  const clients = Array.from({ length: 16 }, async () => {
    while (!isOver) {
      const id = next++;
      const { status } = await fetch(`${server.url}/store/orders/${id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${key}` },
      });
      assert.equal(status, 204);
      answered.push(id);
    }
  });
  await until(() => answered.length >= 200);
  const before = answered.slice();
  await answerOf(['db', 'backup', 'copy.db'], { cwd });
  const during = answered.length;
  await until(() => answered.length >= during + 200);
  isOver = true;
  await Promise.all(clients);
  assert.ok(during > before.length, 'cancels were acknowledged during the backup');

  const { orders } = Object(await answerOf(['db', 'check', '--db', 'copy.db'], { cwd }));
  assert.equal(orders.total, 60_000);
  const { stdout } = await run(['orders', 'export', '--db', 'copy.db'], { cwd });
  const statuses = stdout.split('\n').map((line) => /"status":"(\w+)"/.exec(line)?.[1]);
  assert.deepEqual(
    before.filter((id) => statuses[id - 1] !== 'cancelled'),
    [],
  );
  assert.ok(orders.byStatus.cancelled < answered.length, 'the backup does not contain the cancels made after it');
  assert.equal((await run(['orders', 'show', `${answered.at(-1)}`], { cwd })).stdout.includes('cancelled'), true);
});
