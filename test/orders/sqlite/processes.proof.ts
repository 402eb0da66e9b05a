import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once as onceEmitted } from 'node:events';
import { test } from 'node:test';
import { createSqliteOrderStore } from 'store-orders/sqlite';
import { temporaryFile } from '../../support/temporary-file.js';
import type { Report } from './support/cancelling-process.js';
import { sqliteDrivers } from './support/drivers.js';
import { once, wrapDatabase } from './support/wrapped-database.js';

for (const { name } of sqliteDrivers) {
  test(`under ${name}, two processes can open the same new SQLite file, put orders and cancel them at the same time`, async (t) => {
    const start = () => fork(new URL('./support/cancelling-process.ts', import.meta.url), [name]);
    const [one, two] = [start(), start()];
    t.after(() => [one.kill(), two.kill()]);
    await Promise.all([message(one), message(two)]);
    for (let round = 0; round < 10; round++) {
      const file = temporaryFile();
      const reports = Promise.all([message(one), message(two)]);
      one.send(file);
      two.send(file);
      const [first, second] = await reports;
      assert.deepEqual([first.put, second.put].sort(), ['exists', 'stored']);
      const cancelled = [...first.cancelled, ...second.cancelled];
      assert.equal(cancelled.length, 200, 'every order is cancelled once');
      assert.equal(new Set(cancelled).size, 200, 'no order is cancelled by both processes');
    }
  });
}

for (const { name, open } of sqliteDrivers) {
  test(`under ${name}, a process that waits while another process creates the tables does not create them again`, async (t) => {
    const file = temporaryFile();
    const database = open(file);
    t.after(() => database.close());
    const script = `import { openSqliteOrderStore } from 'store-orders/sqlite';
      await openSqliteOrderStore(process.argv[1]).put([{ id: 1 }]);`;
    // The store of this process finds the file empty. Before the store locks the file, the other
    // process creates the tables.
    const other = once('BEGIN IMMEDIATE', 'before', () =>
      execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '--eval', script, file]),
    );
    const store = createSqliteOrderStore(wrapDatabase(database, other));
    assert.equal(store.get(1n)?.status, 'pending');
  });
}

/** Returns the child's next message. Rejects if the child exits first. */
async function message(child: ChildProcess): Promise<Report> {
  const stop = new AbortController();
  const exited = onceEmitted(child, 'exit', { signal: stop.signal }).then(([code]) => {
    throw new Error(`the process ended with ${code}`);
  });
  const [report] = await Promise.race([onceEmitted(child, 'message', { signal: stop.signal }), exited]);
  exited.catch(() => {});
  stop.abort();
  return report;
}
