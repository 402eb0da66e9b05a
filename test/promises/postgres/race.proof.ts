import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { slowest, spread } from '../../support/figures.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { ROUNDS } from '../../support/rounds.js';
import { until } from '../../support/until.js';

const STORES = 4;
const AT_ONCE = 32;
const RETRY_MS = 25;
/** The race is divided into parts of this many orders. */
const PART = 1_000;
const PARTS = Math.max(1, Math.round(ROUNDS / 50)) * 10;
/** In one of every ten parts, PostgreSQL crashes once this many of its orders are changed. */
const CRASH_AFTER = PART / 4;
/** On a busy machine, the first reply may take longer than the stores need. */
const BACK_MS = process.env['STORE_ORDERS_IDLE'] === '1' ? 2_000 : 30_000;

const CHANGED = { cancel: 'cancelled', ship: 'shipped' };

/** One attempt to change an order, when it ran, and its outcome. */
interface Attempt {
  readonly kind: keyof typeof CHANGED;
  readonly start: number;
  /** `Infinity` if no reply came. The change may have happened at any time since the start, or never. */
  readonly end: number;
  readonly answer: string | undefined;
}

test(`${STORES} stores cancel and ship ${PARTS * PART} orders correctly while PostgreSQL crashes`, {
  skip: missingEngine,
}, async (t) => {
  const engine = await startEngine();
  const admin = engine.pool();
  const { options } = admin.options;
  const pools = Array.from({ length: STORES }, () =>
    engine.pool({ options: `${options} -c application_name=racing`, max: 5, connectionTimeoutMillis: 2_000 }),
  );
  const stores = pools.map(createPostgresOrderStore);
  // All stores find an empty database and try to create the table.
  await Promise.all(stores.map((store) => store.migrate()));
  const histories = Array.from({ length: PARTS * PART }, (): Attempt[] => []);

  /** Changes an order, again and again until there is a reply. */
  async function change(seat: number, kind: 'cancel' | 'ship', order: number): Promise<void> {
    for (let answer: string | undefined; answer === undefined; ) {
      const start = performance.now();
      answer = await stores[seat % STORES]?.[kind](BigInt(order)).catch(() => sleep(RETRY_MS, undefined));
      histories[order]?.push({ kind, start, end: answer === undefined ? Infinity : performance.now(), answer });
    }
  }

  /** One store cancels an order while another ships it. */
  async function race(order: number): Promise<void> {
    const kinds = order % 3 === 0 ? (['cancel', 'ship'] as const) : (['ship', 'cancel'] as const);
    await Promise.all(kinds.map((kind, index) => change(order + index, kind, order)));
    raced++;
  }

  let raced = 0;
  const upAgainMs: number[] = [];
  for (let part = 0; part < PARTS; part++) {
    const orders = Array.from({ length: PART }, (_, index) => part * PART + index);
    await createPostgresOrderStore(admin).put(orders.map((id) => ({ id })));
    const racing = Array.from({ length: AT_ONCE }, async (_, worker) => {
      for (let order = part * PART + worker; order < (part + 1) * PART; order += AT_ONCE) await race(order);
    });
    if (part % 10 === 5) {
      await until(() => raced >= part * PART + CRASH_AFTER);
      await engine.crash();
      await engine.start();
      upAgainMs.push(performance.now());
    }
    await Promise.all(racing);
  }

  const operations = histories.flat();
  const open = operations.filter(({ end }) => end === Infinity).length;
  const met = histories.filter(overlap).length;
  const ends = operations.map(({ end }) => end).filter((end) => end < Infinity);
  const backMs = upAgainMs.map((upMs) => Math.min(...ends.filter((end) => end > upMs)) - upMs);
  t.diagnostic(`${met} orders that two stores changed at once; ${open} attempts without a reply`);
  t.diagnostic(`first reply after PostgreSQL was up again: ${spread(backMs)}`);
  assert.ok(met >= histories.length / 2, 'different stores changed the same order at the same time');
  assert.ok(open > 0, 'requests were interrupted');
  assert.ok(slowest(backMs) <= BACK_MS);

  const { rows } = await admin.query('SELECT id::int, status FROM store_orders ORDER BY id');
  assert.equal(rows.length, histories.length);
  for (const { id, status } of rows) {
    const history = histories[id] ?? [];
    assert.ok(isLinearizable(history, status), `order ${id}, ${status}: ${JSON.stringify(history)}`);
  }

  for (const { totalCount, idleCount, waitingCount } of pools) {
    assert.deepEqual([idleCount, waitingCount], [totalCount, 0], 'every connection is back in its pool');
  }
  // The backend of a connection that a pool has given up ends a moment later.
  await until(async () => {
    const { rows: backends } = await admin.query("SELECT FROM pg_stat_activity WHERE application_name = 'racing'");
    return backends.length === pools.reduce((sum, { totalCount }) => sum + totalCount, 0);
  });
});

test('isLinearizable distinguishes true histories from false ones', () => {
  const attempt = (kind: Attempt['kind'], start: number, end: number, answer?: string) => {
    return { kind, start, end, answer };
  };
  for (const [isTrue, status, ...history] of [
    [false, 'cancelled', attempt('cancel', 0, 9, 'cancelled'), attempt('cancel', 0, 9, 'cancelled')],
    [false, 'cancelled', attempt('cancel', 0, 9, 'cancelled'), attempt('ship', 0, 9, 'shipped')],
    [false, 'pending', attempt('cancel', 0, 9, 'cancelled')],
    [false, 'shipped', attempt('cancel', 0, 1, 'already_shipped'), attempt('ship', 2, 3, 'shipped')],
    [false, 'shipped', attempt('cancel', 0, 1, 'already_shipped'), attempt('ship', 2, Infinity)],
    [true, 'cancelled', attempt('cancel', 0, Infinity), attempt('cancel', 5, 6, 'already_cancelled')],
    [true, 'shipped', attempt('cancel', 0, Infinity), attempt('ship', 1, 2, 'shipped')],
    [true, 'shipped', attempt('cancel', 0, 9, 'already_shipped'), attempt('ship', 8, 9, 'shipped')],
  ] as const) {
    assert.equal(isLinearizable(history, status), isTrue, JSON.stringify(history));
  }
});

/**
 * Reports whether the attempts on a pending order are linearizable, if the order had this status
 * afterwards. They are if one of them can have changed the order: every other reply came after the
 * start of that attempt, and reports its change.
 */
function isLinearizable(history: readonly Attempt[], status: string): boolean {
  return history.some((change) => {
    const others = history.filter((other) => other !== change && other.answer !== undefined);
    const isExplained = others.every(({ answer, end }) => answer === `already_${status}` && end >= change.start);
    return CHANGED[change.kind] === status && (change.answer ?? status) === status && isExplained;
  });
}

function overlap(history: readonly Attempt[]): boolean {
  return history.some((one) => history.some((other) => other.start < one.start && one.start < other.end));
}
