import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient, isCancelled } from '../../promises/durability/support/client.js';
import { look } from '../../promises/durability/support/found.js';
import { serving } from '../../promises/durability/support/serving.js';
import { cannotTrace } from '../../promises/durability/support/system-calls.js';
import { until } from '../../support/until.js';
import { leaveJournal } from '../support/journal.js';
import { failingProgram, type Program, programIn, programWithOrders } from '../support/program.js';
import { spawnProgram } from '../support/run.js';

/** Fails writes beyond `blocks` blocks of 512 bytes in each file, as if the disk were full. */
function withFilesUpTo(cwd: string, blocks: number): Program {
  return programIn({ cwd, under: ['sh', '-c', `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`, 'sh'] });
}

test('a backup that is killed never leaves a file under its name, and a second backup succeeds', async () => {
  const { cwd, output } = await programWithOrders(600_000);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
    const isPartial = (name: string) => name.startsWith(`${signal}.db.`) && name.endsWith('.partial');
    let ended: unknown[] = [0, null];
    // A backup can be complete before the signal arrives.
    for (let tries = 0; tries < 5 && ended[0] === 0; tries++) {
      rmSync(join(cwd, `${signal}.db`), { force: true });
      const child = spawnProgram(['db', 'backup', `${signal}.db`], { cwd });
      const exited = once(child, 'exit');
      await until(() => readdirSync(cwd).some(isPartial) || child.exitCode !== null);
      child.kill(signal);
      ended = await exited;
    }
    assert.deepEqual(ended, [null, signal]);
    assert.ok(!existsSync(join(cwd, `${signal}.db`)));
  }
  await output('db backup SIGINT.db');
});

test('a restore that cannot rename its copy leaves the database complete, even beside a journal that would empty it', {
  skip: cannotTrace(),
}, async () => {
  const { cwd, output } = await programWithOrders(1);
  await output('db backup copy.db');
  leaveJournal(join(cwd, 'store-orders.db'));
  assert.match(
    await failingProgram(cwd, '?rename,?renameat,renameat2', 'EIO').failure('db restore copy.db'),
    /: EIO: i\/o error/,
  );
  assert.match(await output('orders export'), /^{"id":1,/);
});

test('on a full disk, a command reports the disk or the copy, and leaves no copy', {
  skip: cannotTrace(),
}, async () => {
  const { cwd } = await programWithOrders(20_000);
  assert.match(
    await withFilesUpTo(cwd, 256).failure('db backup copy.db'),
    /^cannot write copy\.db: the disk failed .+/,
  );
  assert.deepEqual(readdirSync(cwd), ['store-orders.db']);
  const fixed =
    'import crypto from "node:crypto"; crypto.randomInt = () => 0; process.getBuiltinModule("module").syncBuiltinESMExports()';
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fixed)}` };
  const copy = failingProgram(cwd, 'pread64', 'EIO', join(cwd, 'copy.db.00000000.partial'), env);
  assert.match(await copy.failure('db backup copy.db'), /^cannot (?:read|write) copy\.db: /);
  // Too full for the index of the log, the file -shm.
  assert.match(
    await withFilesUpTo(cwd, 8).failure('db backup copy.db'),
    /^cannot read store-orders\.db: the disk failed \(.+\); check the disk, its free space and the system's log$/,
  );
  const wal = join(cwd, 'store-orders.db-wal');
  assert.equal(
    await failingProgram(cwd, 'pwrite64', 'ENOSPC', wal).failure('keys create --plan free'),
    'cannot use store-orders.db: the disk is full; free some space',
  );
});

test('a backup made while a server cancels orders contains every cancel that was acknowledged before the backup began', async (t) => {
  const { orders, server } = await serving(t, 60_000);
  const promised: bigint[] = [];
  let isOver = false;
  const clients = Array.from({ length: 16 }, async () => {
    const client = createClient(server.url, orders.key.key);
    while (!isOver) {
      const [id = 0n] = orders.next(1);
      if (isCancelled(await client.cancel(id))) promised.push(id);
    }
    client.close();
  });
  await until(() => promised.length >= 200);
  const before = promised.slice();
  await programIn({ cwd: orders.cwd }).output('db backup copy.db');
  const during = promised.length;
  await until(() => promised.length >= during + 200);
  isOver = true;
  await Promise.all(clients);
  assert.ok(during > before.length, 'cancels were acknowledged during the backup');

  const { stored, cancelled } = look(join(orders.cwd, 'copy.db'));
  assert.equal(stored.size, 2 * 60_000);
  assert.deepEqual(
    before.filter((id) => !cancelled.has(id)),
    [],
  );
  assert.ok(cancelled.size < promised.length, 'the backup does not contain the cancels made after it');
});
