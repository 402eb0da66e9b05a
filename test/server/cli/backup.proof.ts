import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { cannotTrace } from '../../durability/support/system-calls.js';
import { until } from '../../support/until.js';
import { leaveJournal } from '../support/journal.js';
import { issueKey, type Program, programIn, spawnProgram, startServer } from '../support/program.js';

/** Creates a directory with a database of `count` pending orders, whose ids begin at 1. */
async function withOrders(count: number): Promise<Program> {
  const program = programIn();
  await program.output('orders import -', '{"id":1}');
  const database = openSqliteDatabase(join(program.cwd, 'store-orders.db'));
  database.exec(
    `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO orders SELECT i, i, 1, NULL, NULL, 'pending' FROM n`,
  );
  database.close();
  return program;
}

/** Makes system calls of the program fail. If a file is given, only its calls fail. */
function failing(cwd: string, calls: string, error: string, file?: string): Program {
  const path = file === undefined ? [] : ['-P', file];
  const options = ['-f', '-o', '/dev/null', ...path, '-e', `trace=${calls}`, '-e', `inject=${calls}:error=${error}`];
  return programIn({ cwd, under: ['strace', ...options] });
}

/** Fails writes beyond `blocks` blocks of 512 bytes in each file, as if the disk were full. */
function withFilesUpTo(cwd: string, blocks: number): Program {
  return programIn({ cwd, under: ['sh', '-c', `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`, 'sh'] });
}

test('a backup that is killed never leaves a file under its name, and a second backup succeeds', async () => {
  const { cwd, output } = await withOrders(600_000);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
    const child = spawnProgram(['db', 'backup', `${signal}.db`], { cwd });
    const exited = once(child, 'exit');
    await until(() => readdirSync(cwd).some((name) => name.startsWith(`${signal}.db.`) && name.endsWith('.partial')));
    child.kill(signal);
    assert.deepEqual(await exited, [null, signal]);
    assert.ok(!existsSync(join(cwd, `${signal}.db`)));
  }
  await output('db backup SIGINT.db');
});

test('a restore that cannot rename its copy leaves the database complete, even beside a journal that would empty it', {
  skip: cannotTrace(),
}, async () => {
  const { cwd, output } = await withOrders(1);
  await output('db backup copy.db');
  leaveJournal(join(cwd, 'store-orders.db'));
  assert.match(
    await failing(cwd, '?rename,?renameat,renameat2', 'EIO').failure('db restore copy.db'),
    /: EIO: i\/o error/,
  );
  assert.match(await output('orders export'), /^{"id":1,/);
});

test('on a full disk, a command reports the disk or the copy, and leaves no copy', {
  skip: cannotTrace(),
}, async () => {
  const { cwd } = await withOrders(20_000);
  assert.match(
    await withFilesUpTo(cwd, 256).failure('db backup copy.db'),
    /^cannot write copy\.db: the disk failed .+/,
  );
  assert.deepEqual(readdirSync(cwd), ['store-orders.db']);
  const full = 'store-orders.db: the disk is full; free some space';
  // Too full for the index of the log, the file -shm.
  assert.equal(await withFilesUpTo(cwd, 8).failure('db backup copy.db'), `cannot read ${full}`);
  const wal = join(cwd, 'store-orders.db-wal');
  assert.equal(await failing(cwd, 'pwrite64', 'ENOSPC', wal).failure('keys create --plan free'), `cannot use ${full}`);
});

test('a backup made while a server cancels orders contains every cancel that was acknowledged before the backup began', async (t) => {
  const { cwd, json, output } = await withOrders(60_000);
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
  await output('db backup copy.db');
  const during = answered.length;
  await until(() => answered.length >= during + 200);
  isOver = true;
  await Promise.all(clients);
  assert.ok(during > before.length, 'cancels were acknowledged during the backup');

  const { orders } = Object(await json('db check --db copy.db'));
  assert.equal(orders.total, 60_000);
  const statuses = (await output('orders export --db copy.db'))
    .split('\n')
    .map((line) => /"status":"(\w+)"/.exec(line)?.[1]);
  assert.deepEqual(
    before.filter((id) => statuses[id - 1] !== 'cancelled'),
    [],
  );
  assert.ok(orders.byStatus.cancelled < answered.length, 'the backup does not contain the cancels made after it');
});
