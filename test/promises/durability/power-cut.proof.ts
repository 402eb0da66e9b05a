import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { answerOf } from '../../program/support/program.js';
import { temporaryDirectory, temporaryFile } from '../../support/temporary-file.js';
import type { Step } from './support/cancelling-process.js';
import { cutPower } from './support/cut-power.js';
import { createOrderFile } from './support/order-file.js';
import { cannotTrace } from './support/system-calls.js';

/**
 * These steps write so much that SQLite copies its log into the database and starts the log over.
 * It does this both before and after the store is opened a second time.
 */
const LONG: readonly Step[] = [
  { put: [0, 2_000] },
  { put: [2_000, 4_000] },
  { cancel: [0, 1_600], atOnce: 32 },
  { cancel: [1_600, 1_620], atOnce: 1 },
  'close',
  'open',
  { cancel: [1_620, 1_700], atOnce: 8 },
];

describe('the SQLite store when the power fails', { skip: cannotTrace() }, () => {
  test('a power cut never loses what the store has acknowledged', async (t) => {
    const { cancelled, cuts, cutsThatLose } = await cutPower(t, { steps: LONG });
    assert.equal(cancelled, 1_700);
    assert.ok(cuts >= 200);
    assert.ok(cutsThatLose >= 50, 'the cuts lose cancels that were not acknowledged, so this test can fail');
  });

  // After a failed fsync, processes can read data that is not on disk and that the kernel will not
  // write again.
  test('a power cut loses nothing that a process acknowledged, even if some fsyncs of this process failed', async (t) => {
    const { failedFsyncs, cancelled } = await cutPower(t, {
      steps: [{ put: [0, 1_000] }, { cancel: [0, 120], atOnce: 4 }],
      failingFsyncs: '10+7',
    });
    assert.ok(failedFsyncs > 5);
    assert.ok(cancelled > 60);
  });

  test('a power cut loses nothing that a process acknowledged, even if fsyncs of an earlier process failed', async (t) => {
    const { failedFsyncs, cancelled } = await cutPower(
      t,
      { steps: [{ put: [0, 1_000] }, { cancel: [0, 30], atOnce: 4 }], failingFsyncs: '10+' },
      { steps: [{ cancel: [30, 80], atOnce: 4 }, 'close'], failingFsyncs: '9+4' },
      { steps: [{ cancel: [80, 110], atOnce: 4 }, 'close', 'open', { cancel: [110, 115], atOnce: 1 }] },
    );
    assert.ok(failedFsyncs > 5);
    assert.ok(cancelled > 50);
  });
});

for (const [command, name] of [
  ['backup', 'copy.db'],
  ['restore', 'store-orders.db'],
] as const) {
  test(`db ${command} syncs its copy, then renames it, then syncs the directory`, { skip: cannotTrace() }, async () => {
    const { cwd } = await createOrderFile(temporaryDirectory(), 10);
    if (command === 'restore') await answerOf(['db', 'backup', 'copy.db'], { cwd });
    const record = temporaryFile();
    const under = ['strace', '-y', '-o', record, '-e', 'trace=fsync,?rename,?renameat,renameat2'];
    await answerOf(['db', command, 'copy.db'], { cwd, under });
    const copy = `${name}\\.\\w+\\.partial`;
    // Before a restore renames the copy, it also syncs the database that it replaces.
    const calls = [`fsync.*/${copy}>.*`, `(?:fsync.*\\n)*rename.*/${copy}".*`, `fsync.*<${cwd}>.*`];
    assert.match(readFileSync(record, 'latin1'), new RegExp(`^${calls.join(' = 0\\n')} = 0$`, 'm'));
  });
}
