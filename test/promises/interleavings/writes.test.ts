import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import fc from 'fast-check';
import { createWriteQueue } from '../../../dist/databases/sqlite/group-commit.js';
import { createGroupedChange } from '../../../dist/orders/postgres/group.js';
import { play } from './support/play.js';

test('in any order of writes, locks, failures and commits, a write succeeds if and only if it is stored, in order, and each settles', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const acts = fc.record({
    act: fc.constantFrom('write', 'write', 'write', 'lock', 'unlock', 'lock at times', 'full disk', 'pass'),
    /** What is written in one pass of the event loop. */
    kinds: fc.array(fc.constantFrom('plain', 'plain', 'nesting', 'failing'), { minLength: 1, maxLength: 4 }),
    /** Which of the next transactions find the file locked, also those that repeat a group one by one. */
    locks: fc.array(fc.boolean(), { maxLength: 4 }),
  });
  await play(acts, () => {
    mock.timers.reset();
    mock.timers.enable({ apis: ['setTimeout'] });
    const stored: number[] = [];
    const succeeded: number[] = [];
    let open: number[] = [];
    let isLocked = false;
    const nextLocks: boolean[] = [];
    let isFull = false;
    let pending = 0;
    let writes = 0;
    const queue = createWriteQueue({
      exec(sql) {
        if (sql === 'BEGIN IMMEDIATE' && (nextLocks.shift() || isLocked))
          throw Object.assign(new Error('locked'), { errcode: 5, code: 'ERR_SQLITE_ERROR' });
        if (sql === 'COMMIT') {
          if (isFull) throw new Error('the disk is full');
          stored.push(...open);
        }
        open = [];
      },
      prepare: () => assert.fail('no statement is prepared'),
      close() {},
    });

    function write(kind: string): void {
      const number = ++writes;
      pending++;
      const written = queue.write(() => {
        if (kind === 'failing') throw new Error('a constraint failed');
        open.push(number);
        if (kind === 'nesting') write('plain');
        return number;
      });
      written
        .then(
          (result) => {
            assert.ok(stored.includes(result), 'acknowledged before it is stored');
            succeeded.push(result);
          },
          () => {},
        )
        .finally(() => pending--);
    }

    return {
      act({ act, kinds, locks }) {
        if (act === 'lock at times') nextLocks.push(...locks);
        else if (act === 'lock') isLocked = true;
        else if (act === 'unlock') isLocked = false;
        else if (act === 'full disk') isFull = !isFull;
        else if (act === 'pass') nowMs += 500;
        else for (const kind of kinds) write(kind);
        mock.timers.tick(5);
      },
      pending() {
        nowMs += 500;
        mock.timers.tick(5);
        if (pending === 0) {
          assert.deepEqual(succeeded, stored, 'what is stored is acknowledged, in the same order');
          assert.deepEqual(
            stored,
            stored.toSorted((a, b) => a - b),
            'writes are stored in the order of their calls',
          );
        }
        return pending;
      },
    };
  });
  mock.timers.reset();
});

test('in any order of cancels, replies, locks, rejections and lost replies, one cancel of an order succeeds, what is acknowledged is stored, and each settles', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const acts = fc.record({
    act: fc.constantFrom('cancel', 'cancel', 'cancel', 'cancel', 'lock', 'lose a reply'),
    id: fc.bigInt({ min: 1n, max: 6n }),
    /** How much time passes before it. */
    ms: fc.constantFrom(0, 0, 30, 50),
  });
  await play(acts, (s) => {
    mock.timers.reset();
    mock.timers.enable({ apis: ['setTimeout'] });
    const stored = new Set<bigint>();
    const succeeded = new Set<bigint>();
    const locked = new Set<bigint>();
    let lost = 0;
    /** For each order, how many statements without a reply no caller has been told of. */
    const untold = new Map<bigint, number>();
    let inFlight = 0;
    let hasRejected = false;
    let pending = 0;
    let failed: unknown;

    const cancel = createGroupedChange<'cancelled' | 'already_cancelled'>(async (ids) => {
      inFlight++;
      try {
        return await execute(ids);
      } finally {
        inFlight--;
      }
    });

    async function execute(ids: readonly bigint[]) {
      if (inFlight > (hasRejected ? 8 : 4)) failed = new Error('more than four groups, and four parts, are in flight');
      await s.schedule(Promise.resolve(), `statement ${ids}`);
      // A trigger rejects order 5, and with it the whole statement.
      if (ids.includes(5n)) {
        hasRejected = true;
        throw Object.assign(new Error('a trigger rejects it'), { code: '23514' });
      }
      const changed = new Set(ids.filter((id) => !locked.has(id) && !stored.has(id)));
      for (const id of changed) stored.add(id);
      await s.schedule(Promise.resolve(), `reply ${ids}`);
      if (lost > 0) {
        lost--;
        for (const id of ids) untold.set(id, (untold.get(id) ?? 0) + 1);
        throw Object.assign(new Error('the connection is gone'), { code: '08006' });
      }
      return (id: bigint) => {
        if (changed.delete(id)) return 'cancelled';
        return stored.has(id) ? 'already_cancelled' : 'locked';
      };
    }

    async function request(id: bigint): Promise<void> {
      pending++;
      const outcome = await cancel(id).catch((error: Error) => error.message);
      pending--;
      if (/gone/.test(outcome)) untold.set(id, (untold.get(id) ?? 0) - 1);
      assert.equal(/rejects/.test(outcome), id === 5n, 'one rejected order does not affect the others');
      if (!outcome.endsWith('cancelled')) return;
      assert.ok(stored.has(id), 'acknowledged, but not stored');
      assert.ok(outcome !== 'cancelled' || !succeeded.has(id), 'cancelled twice');
      if (outcome === 'cancelled') succeeded.add(id);
    }

    function pass(ms: number): void {
      nowMs += ms;
      mock.timers.tick(ms);
    }

    return {
      act({ act, id, ms }) {
        pass(ms);
        if (act === 'lock') locked.add(id);
        else if (act === 'lose a reply') lost++;
        else
          request(id).catch((error) => {
            failed = error;
          });
      },
      pending() {
        if (failed !== undefined) throw failed;
        locked.clear();
        pass(50);
        if (pending === 0) assert.ok(Math.max(0, ...untold.values()) === 0, 'sent again after a lost reply');
        return pending;
      },
    };
  });
  mock.timers.reset();
});
