import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { issueKey, startServer } from '../../program/support/program.js';
import { run } from '../../program/support/run.js';
import { createListScan } from '../../support/list-scan.js';
import { MIB, mebibytes, peakBytes } from '../../support/memory.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

const MANY = 1_000_000;

test('a million orders are listed in bounded memory, even during an import, and the next list has the imported order', async (t) => {
  const cwd = temporaryDirectory();
  const { key } = await issueKey(cwd, 'business', '--db', 'many.db');
  fill(join(cwd, 'many.db'));
  const server = await startServer(t, { cwd }, '--db', 'many.db', '--log', 'events');
  const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' };
  const ask = (method: string, path = '') => fetch(`${server.url}/store/orders${path}`, { method, headers });
  // This cancel starts the thread that writes, so that the baseline includes the memory of this
  // thread.
  assert.equal((await ask('DELETE', '/0')).status, 204);
  const baseBytes = peakBytes(server.child.pid);

  const listed = await ask('GET');
  let imported: Promise<unknown> | undefined;
  const first = createListScan();
  for await (const chunk of listed.body ?? []) {
    first.add(chunk);
    imported ??= run(['orders', 'import', '-', '--db', 'many.db'], { cwd, input: '{"id":1}\n' });
  }
  await imported;
  assert.deepEqual([first.orders(), first.isAscending()], [MANY, true]);

  const beyondBytes = peakBytes(server.child.pid) - baseBytes - first.bytes();
  t.diagnostic(
    `memory: baseline ${mebibytes(baseBytes)}, list ${mebibytes(first.bytes())}, rest ${mebibytes(beyondBytes)}`,
  );
  assert.ok(
    baseBytes === 0 || beyondBytes <= 64 * MIB,
    `${beyondBytes} bytes more than the idle server's memory plus the list's length`,
  );

  const second = createListScan();
  for await (const chunk of (await ask('GET')).body ?? []) second.add(chunk);
  assert.deepEqual([second.orders(), second.isAscending()], [MANY + 1, true]);
  assert.equal(second.bytes(), first.bytes() + ',{"id":1}'.length);
});

/**
 * Stores orders with even ids only, so that an order can be imported between two of them. Uses SQL,
 * because an import of a million orders is not under test.
 */
function fill(file: string): void {
  const database = openSqliteDatabase(file);
  database.exec(`
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${MANY - 1})
    INSERT INTO orders SELECT 2 * i, i % 90, i % 30 + 1, '2026-07-16T00:00:00Z', i % 2, 'pending' FROM n`);
  database.close();
}
