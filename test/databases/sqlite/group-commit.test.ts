import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createSqliteOrderStore, type SqliteDatabase } from 'store-orders/sqlite';
import { sqliteDrivers } from '../../orders/sqlite/support/drivers.js';
import { once, type Wrapping, wrapDatabase } from '../../orders/sqlite/support/wrapped-database.js';
import { temporaryFile } from '../../support/temporary-file.js';

/** This wait is long enough for the write queue to try several times to lock the database. */
const SEVERAL_TRIES_MS = 30;

/** Makes every write of order 2 fail. */
const failing: Wrapping = {
  run(parameters, proceed) {
    if (parameters.includes(2n)) throw new Error('disk I/O error');
    return proceed();
  },
};

for (const { name, open } of sqliteDrivers) {
  describe(`writes to SQLite under ${name}`, () => {
    /** Opens a store with the orders 1, 2 and 3, and a second connection to its file. */
    async function opened(wrappingOf: (other: SqliteDatabase) => Wrapping = () => ({})) {
      const file = temporaryFile();
      const [database, other] = [open(file), open(file)];
      // This timeout is the default of better-sqlite3. With it, a handle blocks while it waits for
      // a lock.
      database.exec('PRAGMA busy_timeout = 5000');
      await createSqliteOrderStore(database).put([{ id: 1n }, { id: 2n }, { id: 3n }]);
      const store = createSqliteOrderStore(wrapDatabase(database, wrappingOf(other)));
      return { store, other, statuses: () => [1n, 2n, 3n].map((id) => store.get(id)?.status) };
    }

    test('while another connection holds the lock, writes wait in their order without blocking the event loop, each for 5 s', async (t) => {
      let nowMs = 10_000;
      const { store, other, statuses } = await opened();
      t.mock.method(performance, 'now', () => nowMs);
      other.exec('BEGIN IMMEDIATE');
      const startMs = Date.now();
      const early = settled(store.cancel(1n));
      await delay(SEVERAL_TRIES_MS);
      nowMs += 4_999;
      const [shipped, cancelled] = [settled(store.ship(2n)), settled(store.cancel(3n))];
      await delay(SEVERAL_TRIES_MS);
      const late = settled(store.cancel(2n));
      await delay(SEVERAL_TRIES_MS);
      assert.ok(Date.now() - startMs < 4_000, 'the event loop kept running');
      assert.deepEqual([early.answer, shipped.answer, cancelled.answer, late.answer], Array(4).fill(undefined));
      assert.equal(store.get(1n)?.status, 'pending');
      nowMs += 1;
      assert.match(String(await early.end), /database is locked/);
      assert.equal(shipped.answer, undefined);
      other.exec('COMMIT');
      assert.deepEqual(await Promise.all([shipped.end, cancelled.end, late.end]), [
        'shipped',
        'cancelled',
        'already_shipped',
      ]);
      assert.deepEqual(statuses(), ['pending', 'shipped', 'cancelled']);
      assert.equal(await store.cancel(1n), 'cancelled');
    });

    test('a write that fails does not make other writes of the same commit fail', async () => {
      const { store, statuses } = await opened(() => failing);
      const answers = await Promise.all(
        [
          store.cancel(1n),
          store.cancel(2n),
          store.put([{ id: 4n }, { id: 2n }], { replace: true }),
          store.cancel(2n ** 64n + 1n),
          store.ship(3n),
          store.put([{ id: 5n }]),
        ].map((write) => settled(write).end),
      );
      assert.deepEqual(answers.slice(0, 3), ['cancelled', 'Error: disk I/O error', 'Error: disk I/O error']);
      assert.notEqual(answers[3], 'cancelled');
      assert.deepEqual(answers.slice(4), ['shipped', { outcome: 'stored', count: 1 }]);
      assert.deepEqual(statuses(), ['cancelled', 'pending', 'shipped']);
      assert.deepEqual([store.get(4n), store.get(5n)], [undefined, { id: 5n, status: 'pending' }]);
    });

    test('if another connection takes the lock after a rollback, the rolled-back writes wait for the lock and are then repeated', async () => {
      let left = 1;
      const { store, other } = await opened((other) => ({
        ...once('ROLLBACK', 'after', () => other.exec('BEGIN IMMEDIATE')),
        run(_parameters, proceed) {
          if (left-- > 0) throw new Error('disk I/O error');
          return proceed();
        },
      }));
      const answers = [settled(store.cancel(1n)), settled(store.cancel(2n))];
      await delay(SEVERAL_TRIES_MS);
      for (const { answer } of answers) assert.equal(answer, undefined);
      other.exec('COMMIT');
      assert.deepEqual(await Promise.all(answers.map(({ end }) => end)), ['cancelled', 'cancelled']);
    });

    test('if another connection holds the lock for a moment while writes are repeated one by one, they keep their order', async () => {
      let begun = 0;
      const { store, other } = await opened((other) => ({
        ...failing,
        exec(sql, proceed) {
          if (sql === 'BEGIN IMMEDIATE' && ++begun === 3) other.exec('COMMIT');
          const result = proceed();
          if (sql === 'ROLLBACK' && begun === 1) other.exec('BEGIN IMMEDIATE');
          return result;
        },
      }));
      const answers: unknown[] = [];
      const writes = [store.cancel(1n), store.cancel(2n), store.ship(1n)];
      await Promise.allSettled(writes.map((write) => write.finally(() => answers.push(write))));
      assert.deepEqual(answers, writes);
      assert.deepEqual([await writes[0], await writes[2]], ['cancelled', 'already_cancelled']);
      other.close();
    });

    test('writes resolve only after the commit, and reject if the commit fails', async () => {
      const executed: string[] = [];
      let fails = false;
      const { store, statuses } = await opened(() => ({
        exec(sql, proceed) {
          executed.push(sql);
          // A driver may throw something that is not an Error. A ROLLBACK fails if SQLite has rolled
          // the transaction back already.
          if (sql === 'COMMIT' && fails) throw null;
          proceed();
          if (sql === 'ROLLBACK') throw new Error('no transaction is active');
        },
      }));
      executed.length = 0;
      await Promise.all(
        [store.cancel(1n), store.cancel(1n), store.ship(3n)].map((write) => write.then(() => executed.push('answer'))),
      );
      assert.deepEqual(executed, ['BEGIN IMMEDIATE', 'COMMIT', 'answer', 'answer', 'answer']);
      fails = true;
      await assert.rejects(store.cancel(2n), (reason) => reason === null);
      fails = false;
      assert.deepEqual(statuses(), ['cancelled', 'pending', 'shipped']);
      assert.equal(await store.cancel(2n), 'cancelled');
    });

    test('a write that is requested during a commit, as by a function that SQL calls, is in the next one', async () => {
      const written: Promise<unknown>[] = [];
      const { store, statuses } = await opened(() => ({
        exec(sql, proceed) {
          if (sql === 'COMMIT' && written.length === 0) written.push(store.ship(2n));
          return proceed();
        },
      }));
      assert.equal(await store.cancel(1n), 'cancelled');
      assert.deepEqual(await Promise.all(written), ['shipped']);
      assert.deepEqual(statuses(), ['cancelled', 'shipped', 'pending']);
    });

    test('all writes have settled when close resolves, and a close without writes does not touch the file', async () => {
      let calls = 0;
      let fails = false;
      const { store } = await opened(() => ({
        ...failing,
        exec(_sql, proceed) {
          calls++;
          if (fails) throw new Error('disk full');
          return proceed();
        },
      }));
      const writes = [settled(store.cancel(1n)), settled(store.cancel(2n))];
      await store.close();
      assert.deepEqual(
        writes.map(({ answer }) => answer),
        ['cancelled', 'Error: disk I/O error'],
      );
      calls = 0;
      await store.close();
      assert.equal(calls, 0);
      fails = true;
      const failed = settled(store.cancel(1n));
      await store.close();
      assert.equal(failed.answer, 'Error: disk full');
    });

    test('createSqliteOrderStore throws if the file stays locked for 20 s', (t) => {
      const file = temporaryFile();
      const [holder, database] = [open(file), open(file)];
      holder.exec('BEGIN EXCLUSIVE');
      let nowMs = 0;
      const startMs = Date.now();
      t.mock.method(performance, 'now', () => (nowMs += 10_000));
      assert.throws(() => createSqliteOrderStore(database), /database is locked/);
      assert.equal(nowMs - 10_000, 20_000, 'the store tried again until 20 s were over');
      assert.ok(Date.now() - startMs >= 400, 'SQLite waits for the lock for 250 ms each time');
      holder.exec('COMMIT');
      createSqliteOrderStore(database);
    });
  });
}

/**
 * Observes a promise. `answer` is `undefined` until the promise settles. Then it is the value, or
 * the error as text.
 */
function settled(promise: Promise<unknown>) {
  const observed: { answer: unknown; end: Promise<unknown> } = { answer: undefined, end: promise };
  observed.end = promise.catch(String).then((answer) => {
    observed.answer = answer;
    return answer;
  });
  return observed;
}
