import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { slowest, spread } from '../../support/figures.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { ROUNDS } from '../../support/rounds.js';
import { isLinearizable, type Operation } from './support/linearizable.js';
import type { Range, Report } from './support/racing-process.js';

const PROCESSES = 4;
/**
 * The race is divided into parts of this many orders. All processes start a part together, so that
 * they change the same orders at the same time.
 */
const PART = 1_000;
const PARTS = Math.max(1, Math.round(ROUNDS / 50)) * 10;
/**
 * In one of every ten parts of the race, the test makes PostgreSQL crash this long after the part
 * has started.
 */
const CRASH_AFTER_MS = 150;
const BACK_MS = 2_000;

test(`${PROCESSES} processes cancel and ship ${PARTS * PART} orders correctly while PostgreSQL crashes`, {
  skip: missingEngine,
}, async (t) => {
  const engine = await startEngine();
  const admin = engine.pool({ options: '' });
  const store = createPostgresOrderStore(admin);
  // All processes find an empty database and try to create the table.
  const racers = Array.from({ length: PROCESSES }, (_, seat) =>
    fork(new URL('./support/racing-process.ts', import.meta.url), [engine.url, `${seat}`, `${PROCESSES}`], {
      serialization: 'advanced',
    }),
  );
  t.after(() => racers.forEach((racer) => void racer.kill()));
  await Promise.all(racers.map(reportOf));

  const histories = Array.from({ length: PARTS * PART }, (): Operation[] => []);
  const backMs: number[] = [];
  let reports: readonly Report[] = [];
  for (let part = 0; part < PARTS; part++) {
    const range: Range = { first: part * PART, count: PART };
    await store.put(Array.from({ length: PART }, (_, index) => ({ id: range.first + index })));
    const racing = Promise.all(racers.map(reportOf));
    for (const racer of racers) racer.send(range);
    let upAt = Infinity;
    if (part % 10 === 5) {
      await sleep(CRASH_AFTER_MS);
      await engine.crash();
      await engine.start();
      upAt = Number(process.hrtime.bigint() / 1_000n);
    }
    reports = await racing;
    for (const { tries, odd } of reports) {
      assert.deepEqual(odd, []);
      for (const operation of tries) histories[operation.order]?.push(operation);
      const answered = tries.filter(({ end }) => end > upAt && end < Infinity).map(({ end }) => end);
      if (answered.length > 0) backMs.push((Math.min(...answered) - upAt) / 1_000);
    }
  }

  const open = histories.flat().filter(({ end }) => end === Infinity).length;
  const met = histories.filter(overlap).length;
  const cancelled = histories.flat().filter(({ answer }) => answer === 'cancelled').length;
  t.diagnostic(
    `${met} orders that two processes changed at once; ${cancelled} cancels acknowledged; ${open} attempts without a reply`,
  );
  t.diagnostic(`first reply to each process after PostgreSQL was up again: ${spread(backMs)}`);
  assert.ok(met >= histories.length / 20, 'different processes changed the same order at the same time');
  assert.ok(
    open > 0 && backMs.length === (PROCESSES * PARTS) / 10,
    'requests were interrupted, and every process got replies after each crash',
  );
  assert.ok(slowest(backMs) <= BACK_MS);

  const { rows } = await admin.query('SELECT id::int, status FROM store_orders ORDER BY id');
  for (const { id, status } of rows) {
    const read = { kind: 'read', start: Number.MAX_VALUE, end: Number.MAX_VALUE, answer: status } as const;
    const history = [...(histories[id] ?? []), read];
    assert.ok(isLinearizable(history), `order ${id}: ${JSON.stringify(history)}`);
  }

  const { total, idle, waiting } = sum(reports.map(({ connections }) => connections));
  assert.deepEqual([idle, waiting], [total, 0], 'every connection is back in its pool');
  const counted = await admin.query(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'racing'",
  );
  assert.equal(counted.rows[0].n, total, 'PostgreSQL has no other connections from these processes');
});

const LIES: Readonly<Record<string, readonly Operation[]>> = {
  'two cancels of one order are acknowledged': [done('cancel', 0, 9, 'cancelled'), done('cancel', 0, 9, 'cancelled')],
  'a cancel and a shipment of one order succeed': [done('cancel', 0, 9, 'cancelled'), done('ship', 0, 9, 'shipped')],
  'an acknowledged cancel is lost': [done('cancel', 0, 1, 'cancelled'), done('read', 2, 3, 'pending')],
  'a cancel returns already_shipped before any shipment begins': [
    done('cancel', 0, 1, 'already_shipped'),
    done('ship', 2, 3, 'shipped'),
  ],
  'an order was shipped although no process shipped it': [
    done('cancel', 0, 1, 'already_shipped'),
    done('ship', 2, Infinity, undefined),
  ],
};

for (const [lie, history] of Object.entries(LIES)) {
  test(`isLinearizable rejects a history in which ${lie}`, () => assert.ok(!isLinearizable(history)));
}

test('isLinearizable accepts an unanswered request with or without an effect, and overlapping requests in any sequence', () => {
  for (const history of [
    [done('cancel', 0, Infinity, undefined), done('read', 5, 6, 'pending'), done('read', 7, 8, 'cancelled')],
    [done('cancel', 0, Infinity, undefined), done('ship', 1, 2, 'shipped'), done('read', 7, 8, 'shipped')],
    [done('cancel', 0, 9, 'already_shipped'), done('ship', 8, 9, 'shipped')],
  ]) {
    assert.ok(isLinearizable(history));
  }
});

function done(kind: Operation['kind'], start: number, end: number, answer: string | undefined): Operation {
  return { kind, start, end, answer };
}

function overlap(history: readonly Operation[]): boolean {
  return history.some((one) => history.some((other) => other.start < one.start && one.start < other.end));
}

function sum(counts: readonly Report['connections'][]): Report['connections'] {
  return counts.reduce((a, b) => ({ total: a.total + b.total, idle: a.idle + b.idle, waiting: a.waiting + b.waiting }));
}

async function reportOf(racer: ChildProcess): Promise<Report> {
  const [report] = await once(racer, 'message');
  return report;
}
