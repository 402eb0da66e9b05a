import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../server/support/program.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { until } from '../support/until.js';
import { createClient } from './support/client.js';
import { createOrderFile } from './support/order-file.js';
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
    const orders = await createOrderFile(temporaryDirectory(), 2_000);
    const server = await startServer(t, { cwd: orders.cwd }, '--log', 'events');
    // The file must be open before the disk begins to fail.
    assert.equal((await fetch(new URL('/readyz', server.url))).status, 200);
    const file = join(orders.cwd, 'store-orders.db');
    const strace = spawn('strace', [
      ...['-f', '-p', `${server.child.pid}`, '-o', '/dev/null'],
      ...['-P', file, '-P', `${file}-wal`, `--inject=${calls}:error=EIO`],
    ]);
    t.after(() => strace.kill());
    await once(strace.stderr, 'data');
    const client = createClient(server.url, orders.key.key);
    t.after(client.close);
    await until(async () => {
      const [id = 0n] = orders.next(1);
      return (await (operation === 'write' ? client.cancel(id) : client.list())).status === 503;
    });
    await until(() => server.log().some(({ event }) => event === 'request'));
    for (const { event, error } of server.log()) {
      if (event === 'request') assert.equal(error, says);
    }
  });
}
