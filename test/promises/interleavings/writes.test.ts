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
    act: fc.constantFrom(
      'write',
      'write',
      'write',
      'write within a write',
      'failing write',
      'lock',
      'unlock',
      'full disk',
      'pass',
    ),
  });
  await play(acts, () => {
    mock.timers.reset();
    mock.timers.enable({ apis: ['setTimeout'] });
    const stored: number[] = [];
    const succeeded: number[] = [];
    let open: number[] = [];
    let isLocked = false;
    let isFull = false;
    let pending = 0;
    let writes = 0;
    const queue = createWriteQueue({
      exec(sql) {
        if (sql === 'BEGIN IMMEDIATE' && isLocked)
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

    function write(act: string): void {
      const number = ++writes;
      pending++;
      const isFailing = act === 'failing write';
      const written = queue.write(() => {
        if (isFailing) throw new Error('a constraint failed');
        open.push(number);
        if (act === 'write within a write') write('write');
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
      act({ act }) {
        if (act === 'lock') isLocked = true;
        else if (act === 'unlock') isLocked = false;
        else if (act === 'full disk') isFull = !isFull;
        else if (act === 'pass') nowMs += 500;
        else write(act);
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
    act: fc.constantFrom('cancel', 'cancel', 'cancel', 'cancel', 'lock', 'lose a reply', 'pass'),
    id: fc.bigInt({ min: 1n, max: 6n }),
  });
  await play(acts, (s) => {
    mock.timers.reset();
    mock.timers.enable({ apis: ['setTimeout'] });
    const stored = new Set<bigint>();
    const succeeded = new Set<bigint>();
    const locked = new Set<bigint>();
    let lost = 0;
    let pending = 0;
    let failed: unknown;

    const cancel = createGroupedChange<'cancelled' | 'already_cancelled'>(async (ids) => {
      await s.schedule(Promise.resolve(), `statement ${ids}`);
      // A trigger rejects order 5, and with it the whole statement.
      if (ids.includes(5n)) throw Object.assign(new Error('a trigger rejects it'), { code: '23514' });
      const changed = new Set(ids.filter((id) => !locked.has(id) && !stored.has(id)));
      for (const id of changed) stored.add(id);
      await s.schedule(Promise.resolve(), `reply ${ids}`);
      if (lost > 0) {
        lost--;
        throw Object.assign(new Error('the connection is gone'), { code: '08006' });
      }
      return (id) => {
        if (changed.delete(id)) return 'cancelled';
        return stored.has(id) ? 'already_cancelled' : 'locked';
      };
    });

    async function request(id: bigint): Promise<void> {
      pending++;
      const outcome = await cancel(id).catch((error: Error) => error.message);
      pending--;
      assert.equal(/rejects/.test(outcome), id === 5n, 'one rejected order does not affect the others');
      if (!outcome.endsWith('cancelled')) return;
      assert.ok(stored.has(id), 'acknowledged, but not stored');
      assert.ok(outcome !== 'cancelled' || !succeeded.has(id), 'cancelled twice');
      if (outcome === 'cancelled') succeeded.add(id);
    }

    function pass(): void {
      nowMs += 50;
      mock.timers.tick(50);
    }

    return {
      act({ act, id }) {
        if (act === 'pass') pass();
        else if (act === 'lock') locked.add(id);
        else if (act === 'lose a reply') lost++;
        else
          request(id).catch((error) => {
            failed = error;
          });
      },
      pending() {
        if (failed !== undefined) throw failed;
        locked.clear();
        pass();
        return pending;
      },
    };
  });
  mock.timers.reset();
});
