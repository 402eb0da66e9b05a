import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { slowest, spread } from '../support/figures.js';
import { type Answer, createClient } from './support/client.js';
import { serving } from './support/serving.js';

const LOCK_MS = 3_000;
/** The time limit for a cancel. A write stops waiting for the lock after 2 s. */
const CANCEL_MS = 2_500;
/**
 * The time limit for a list, which usually takes far less. If the event loop waited for the lock, a
 * list would take far longer.
 */
const LIST_MS = 500;

test('while another process holds the write lock for 3 s, cancels get a response within 2.5 s, and lists within 0.5 s', async (t) => {
  const { orders, server, client: lister, cancel } = await serving(t, 40);
  await lister.list();
  // Starts the thread that writes.
  assert.equal((await cancel()).status, 204);

  // This process is the other one.
  const database = openSqliteDatabase(join(orders.cwd, 'store-orders.db'));
  t.after(() => database.close());
  database.prepare('PRAGMA busy_timeout = 2000').get();
  database.exec('BEGIN IMMEDIATE');
  const lockedMs = performance.now();
  const isLocked = () => performance.now() - lockedMs < LOCK_MS;

  const lists: Answer[] = [];
  async function listMeanwhile(): Promise<void> {
    while (isLocked()) {
      lists.push(await lister.list());
      await sleep(5);
    }
  }

  /**
   * Sends a cancel every 100 ms, so that some cancels time out and others get the lock once it is
   * released.
   */
  async function cancelMeanwhile(): Promise<readonly Answer[]> {
    const cancels: Promise<Answer>[] = [];
    while (isLocked()) {
      const client = createClient(server.url, orders.key.key);
      const [id = 0n] = orders.next(1);
      cancels.push(client.cancel(id).finally(client.close));
      await sleep(100);
    }
    database.exec('COMMIT');
    return Promise.all(cancels);
  }

  const [cancels] = await Promise.all([cancelMeanwhile(), listMeanwhile()]);
  const times = (answers: readonly Answer[]) => answers.map(({ tookMs }) => tookMs);
  const refused = cancels.filter(({ status }) => status === 503);
  const done = cancels.filter(({ status }) => status === 204);
  t.diagnostic(`${lists.length} lists: ${spread(times(lists))}`);
  t.diagnostic(`${done.length} cancels 204: ${spread(times(done))}`);
  t.diagnostic(`${refused.length} cancels 503: ${spread(times(refused))}`);

  assert.deepEqual(new Set(lists.map(({ status }) => status)), new Set([200]));
  assert.ok(slowest(times(lists)) < LIST_MS);
  assert.ok(lists.length > LOCK_MS / 100, 'lists were served while the lock was held');
  assert.equal(refused.length + done.length, cancels.length);
  assert.ok(refused.length > 0 && done.length > 0);
  assert.ok(slowest(times(cancels)) < CANCEL_MS);
  for (const { headers, body } of refused) {
    assert.equal(headers['retry-after'], '1');
    assert.equal(JSON.parse(body).code, 'service_unavailable');
  }
  assert.equal((await cancel()).status, 204);
  assert.equal(orders.look().cancelled.size, done.length + 2, 'no cancel that got a 503 was carried out');
});
