import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../support/until.js';
import { serving } from './support/serving.js';
import { cannotTrace } from './support/system-calls.js';

for (const { calls, operation, says } of [
  {
    calls: 'pwrite64,write,ftruncate',
    operation: 'write',
    says: "cannot write store-orders.db: the disk failed (disk I/O error); check the disk and the system's log",
  },
  {
    // When the file system fails to read, SQLite reports that the file is damaged.
    calls: 'pread64',
    operation: 'read',
    says:
      'store-orders.db is damaged: database disk image is malformed; stop the server, keep a copy of the file and ' +
      'its -wal file, then run db restore with a sound backup',
  },
]) {
  test(`if the disk fails to ${operation}, the log explains the failure and what to do in a sentence`, {
    skip: cannotTrace(),
  }, async (t) => {
    const { orders, server, client, cancel, readiness } = await serving(t, 2_000);
    // The file must be open before the disk begins to fail.
    assert.deepEqual(await readiness(), [200, 'ok']);
    const file = join(orders.cwd, 'store-orders.db');
    const strace = spawn('strace', [
      ...['-f', '-p', `${server.child.pid}`, '-o', '/dev/null'],
      ...['-P', file, '-P', `${file}-wal`, `--inject=${calls}:error=EIO`],
    ]);
    t.after(() => strace.kill());
    await once(strace.stderr, 'data');
    await until(async () => (await (operation === 'write' ? cancel() : client.list())).status === 503);
    const failed = () => server.log().filter(({ event, error }) => event === 'request' && error !== undefined);
    await until(() => failed().length > 0);
    assert.deepEqual(new Set(failed().map(({ error }) => error)), new Set([says]));
  });
}
