import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createNewestList } from '../../dist/orders/newest-list.js';
import { createDeferred } from '../support/until.js';
import { textOf } from './support/store-suite.js';

/** A database whose list shows its revision, on a clock that only moves when a test advances it. */
function createDatabase(t: TestContext) {
  const clock = { nowMs: 0 };
  t.mock.method(performance, 'now', () => clock.nowMs);
  const state = { revision: 1, checks: 0, readings: 0, answered: Promise.resolve() };
  const { list, noteChange } = createNewestList({
    async readRevision() {
      state.checks++;
      const { revision, answered } = state;
      await answered;
      return revision;
    },
    async *readPages() {
      state.readings++;
      yield `${state.revision}`;
    },
    isUnchangeable: (error) => error instanceof RangeError,
  });
  const failing = (error: Error) => {
    state.answered = Promise.reject(error);
    state.answered.catch(() => {});
  };
  return { clock, state, list, noteChange, failing };
}

test('concurrent first calls share one check; within a tenth of a second all calls get the same pages, without a promise', async (t) => {
  const { clock, state, list } = createDatabase(t);
  const [first, ...others] = await Promise.all([list(), list(), list()]);
  assert.deepEqual([state.checks, state.readings], [1, 0], 'the pages are read only when they are requested');
  for (const other of others) assert.equal(other, first);
  clock.nowMs = 99;
  assert.equal(list(), first);
  clock.nowMs = 100;
  assert.equal((await list()).version, first?.version);
  assert.equal(state.checks, 2);
});

test('a change by another process has a new version a tenth of a second after the check before it began', async (t) => {
  const { clock, state, list } = createDatabase(t);
  const { promise, resolve } = createDeferred();
  state.answered = promise;
  const before = list();
  // The check takes a long time, and the change comes after it was sent.
  clock.nowMs = 60;
  state.revision++;
  resolve();
  const { version } = await before;
  clock.nowMs = 99;
  assert.equal((await list()).version, version);
  clock.nowMs = 100;
  const after = await list();
  assert.notEqual(after.version, version);
  assert.equal(await textOf(after), '[2]');
});

test('calls that find a check of a tenth of a second ago in flight share one more check, which begins when it ends', async (t) => {
  const { clock, state, list } = createDatabase(t);
  const { promise, resolve } = createDeferred();
  state.answered = promise;
  const first = list();
  state.revision++;
  clock.nowMs = 100;
  const later = [list(), list()];
  assert.equal(state.checks, 1);
  resolve();
  const before = await first;
  for (const pages of await Promise.all(later)) assert.notEqual(pages.version, before.version);
  assert.equal(state.checks, 2);
});

test('a change by this process is listed at once, also if a check is in flight, whose answer is not remembered', async (t) => {
  const { state, list, noteChange } = createDatabase(t);
  const [early, late] = [createDeferred(), createDeferred()];
  state.answered = early.promise;
  const before = list();
  state.revision++;
  noteChange();
  state.answered = late.promise;
  const after = [list()];
  early.resolve();
  const old = await before;
  after.push(list());
  assert.equal(state.checks, 2, 'the second check is shared, although the first one has ended');
  late.resolve();
  const [first, second] = await Promise.all(after);
  assert.equal(second, first);
  assert.notEqual(first?.version, old.version);
  assert.equal(list(), first);
});

test('a failed check is not remembered; while nothing can change, the last list is returned, but never one from before an own change', async (t) => {
  const { clock, state, list, noteChange, failing } = createDatabase(t);
  failing(new Error('the server is away'));
  const [first, second] = [list(), list()];
  await assert.rejects(async () => first, /away/);
  await assert.rejects(async () => second, /away/);
  assert.equal(state.checks, 1);
  state.answered = Promise.resolve();
  const { version } = await list();
  clock.nowMs = 100;
  failing(new RangeError('the disk hangs'));
  assert.equal((await list()).version, version);
  failing(new Error('the server is away'));
  await assert.rejects(async () => list(), /away/);
  failing(new RangeError('the disk hangs'));
  noteChange();
  await assert.rejects(async () => list(), /hangs/);
});

test('lists of two databases with the same revision have different versions', async (t) => {
  const lists = [createDatabase(t), createDatabase(t)].map(({ list }) => list());
  const [one, other] = await Promise.all(lists);
  assert.notEqual(one?.version, other?.version);
});
