import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Step } from './support/cancelling-process.js';
import { powerCuts } from './support/power-cuts.js';
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
    const losses = await powerCuts(t, { steps: LONG });
    assert.equal(losses.firstLoss, '');
    assert.equal(losses.cancelled, 1_700);
    assert.ok(losses.cuts >= 200);
  });

  // This test shows that the test above would notice a loss.
  test('a power cut loses cancels under synchronous=NORMAL', async (t) => {
    const losses = await powerCuts(t, {
      steps: [{ put: [0, 1_000] }, { cancel: [0, 300], atOnce: 8 }],
      store: 'relaxed',
    });
    assert.equal(losses.cancelled, 300);
    assert.ok(losses.cutsThatLose > 0);
  });

  // After a failed fsync, processes can read data that is not on disk and that the kernel will not
  // write again.
  test('a power cut loses nothing that a process acknowledged, even if some fsyncs of this process failed', async (t) => {
    const losses = await powerCuts(t, {
      steps: [{ put: [0, 1_000] }, { cancel: [0, 120], atOnce: 4 }],
      failingFsyncs: '10+7',
    });
    assert.ok(losses.failedFsyncs > 5);
    assert.ok(losses.cancelled > 60);
    assert.equal(losses.firstLoss, '');
  });

  test('a power cut loses nothing that a process acknowledged, even if fsyncs of an earlier process failed', async (t) => {
    const losses = await powerCuts(
      t,
      { steps: [{ put: [0, 1_000] }, { cancel: [0, 30], atOnce: 4 }], failingFsyncs: '10+' },
      { steps: [{ cancel: [30, 80], atOnce: 4 }, 'close'], failingFsyncs: '9+4' },
      { steps: [{ cancel: [80, 110], atOnce: 4 }, 'close', 'open', { cancel: [110, 115], atOnce: 1 }] },
    );
    assert.ok(losses.failedFsyncs > 5);
    assert.ok(losses.cancelled > 50);
    assert.equal(losses.firstLoss, '');
  });
});
