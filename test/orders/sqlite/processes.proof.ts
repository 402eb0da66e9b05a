import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { temporaryFile } from '../../support/temporary-file.js';
import type { Report } from './support/cancelling-process.js';
import { sqliteDrivers } from './support/drivers.js';

for (const { name } of sqliteDrivers) {
  test(`under ${name}, two processes can open the same new SQLite file, put orders and cancel them at the same time`, async (t) => {
    const start = () => fork(new URL('./support/cancelling-process.ts', import.meta.url), [name]);
    const [one, two] = [start(), start()];
    t.after(() => [one.kill(), two.kill()]);
    await Promise.all([reportOf(one), reportOf(two)]);
    for (let round = 0; round < 10; round++) {
      const file = temporaryFile();
      const reports = Promise.all([reportOf(one), reportOf(two)]);
      one.send(file);
      two.send(file);
      const [first, second] = await reports;
      assert.deepEqual([first.put, second.put].sort(), ['exists', 'stored']);
      const cancelled = [...first.cancelled, ...second.cancelled];
      assert.equal(cancelled.length, 30, 'every order is cancelled once');
      assert.equal(new Set(cancelled).size, 30, 'no order is cancelled by both processes');
    }
  });
}

async function reportOf(child: ChildProcess): Promise<Report> {
  const [report] = await once(child, 'message', { signal: AbortSignal.timeout(60_000) });
  return report;
}
