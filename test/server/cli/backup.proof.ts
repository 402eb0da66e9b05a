import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { cannotTrace } from '../../durability/support/system-calls.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { leaveJournal } from '../support/journal.js';
import { answerOf, issueKey, run, spawnProgram, startServer } from '../support/program.js';

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

test('a backup that is killed never leaves a file under its name, and a second backup succeeds', async () => {
  const cwd = await withOrders(600_000);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
    const child = spawnProgram(['db', 'backup', `${signal}.db`], { cwd });
    const exited = once(child, 'exit');
    await until(() => readdirSync(cwd).some((name) => name.startsWith(`${signal}.db.`) && name.endsWith('.partial')));
    child.kill(signal);
    assert.deepEqual(await exited, [null, signal]);
    assert.ok(!existsSync(join(cwd, `${signal}.db`)));
  }
  assert.equal((await run(['db', 'backup', 'SIGINT.db'], { cwd })).code, 0);
});

/** Makes system calls of the program fail. If a file is given, only its calls fail. */
function failing(calls: string, error: string, file?: string): { readonly under: readonly string[] } {
  const path = file === undefined ? [] : ['-P', file];
  const options = ['-f', '-o', '/dev/null', ...path, '-e', `trace=${calls}`, '-e', `inject=${calls}:error=${error}`];
  return { under: ['strace', ...options] };
}

test('a copy that cannot be renamed leaves no file, and the message names the copy', {
  skip: cannotTrace(),
}, async () => {
  const cwd = await withOrders(1);
  const { code, stderr } = await run(['db', 'backup', 'copy.db'], {
    cwd,
    ...failing('?rename,?renameat,renameat2', 'EIO'),
  });
  assert.deepEqual(
    [code, stderr.slice(0, stderr.indexOf(','))],
    [1, 'store-orders: cannot write copy.db: EIO: i/o error'],
  );
  assert.deepEqual(readdirSync(cwd), ['store-orders.db']);
});

test('a restore that cannot rename its copy leaves the database complete, even beside a journal that would empty it', {
  skip: cannotTrace(),
}, async () => {
  const cwd = await withOrders(1);
  await answerOf(['db', 'backup', 'copy.db'], { cwd });
  leaveJournal(join(cwd, 'store-orders.db'));
  const { stderr } = await run(['db', 'restore', 'copy.db'], {
    cwd,
    ...failing('?rename,?renameat,renameat2', 'EIO'),
  });
  assert.match(stderr, /: EIO: i\/o error/);
  assert.match((await run(['orders', 'export'], { cwd })).stdout, /^{"id":1,/);
});

test('if the directory cannot be synced, db backup and db restore report that the outcome is unknown', {
  skip: cannotTrace(),
}, async () => {
  const cwd = await withOrders(1);
  for (const args of [
    ['backup', 'copy.db'],
    ['restore', 'copy.db', '--db', 'new.db'],
  ]) {
    const { code, stderr } = await run(['db', ...args], { cwd, ...failing('fsync', 'EIO', cwd) });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^store-orders: the disk failed \(.+\), so it is unknown whether \S+\.db was written; run db check on it before you try again\n$/,
    );
  }
});

/** Fails writes beyond `blocks` blocks of 512 bytes in each file, as if the disk were full. */
const withFilesUpTo = (blocks: number) => ({
  under: ['sh', '-c', `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`, 'sh'],
});

test('a backup that does not fit on its disk is reported as a failure of the copy', async () => {
  const cwd = await withOrders(20_000);
  const { code, stderr } = await run(['db', 'backup', 'copy.db'], { cwd, ...withFilesUpTo(256) });
  assert.equal(code, 1);
  assert.match(stderr, /^store-orders: cannot write copy\.db: the disk failed .+\n$/);
  assert.deepEqual(
    readdirSync(cwd).filter((name) => name.startsWith('copy')),
    [],
  );
});

test('a disk that is too full for the index of the log is reported as full', async () => {
  const cwd = await withOrders(1);
  const { code, stderr } = await run(['db', 'backup', 'copy.db'], { cwd, ...withFilesUpTo(8) });
  assert.deepEqual(
    [code, stderr],
    [1, 'store-orders: cannot read store-orders.db: the disk is full; free some space\n'],
  );
});

test('keys create on a full disk reports it, and what to do', { skip: cannotTrace() }, async () => {
  const cwd = await withOrders(1);
  const under = failing('pwrite64', 'ENOSPC', join(cwd, 'store-orders.db-wal'));
  const { code, stderr } = await run(['keys', 'create', '--plan', 'free'], { cwd, ...under });
  assert.deepEqual(
    [code, stderr],
    [1, 'store-orders: cannot use store-orders.db: the disk is full; free some space\n'],
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
