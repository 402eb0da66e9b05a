import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OrderInput } from 'store-orders';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { FIELDS } from '../../../dist/orders/fields.js';
import { idsTo } from '../support/ids.js';
import { listed, testOrderStore } from '../support/store-suite.js';
import { useWebAssembly } from './support/webassembly.js';

const UNCHANGED =
  /^Error: order 13: its status did not change; does a trigger or a policy of its table prevent that\?$/;

describe('the order store in PostgreSQL', () => {
  const { pool, sent, run } = useWebAssembly();

  /** Creates a store over new tables. */
  async function stored(...orders: readonly OrderInput[]) {
    await run('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    const store = createPostgresOrderStore(pool);
    await store.migrate();
    await store.put(orders);
    return store;
  }

  testOrderStore('passes the suite', () => stored());

  test('simultaneous cancels are sent as one statement, as are shipments, and each gets its own outcome', async () => {
    const last = 2n ** 63n - 1n;
    const others = ['shipped', 'cancelled', 'on_hold'].map((status, index) => ({ id: 20 + index, status }));
    const store = await stored({ id: 1 }, { id: last }, ...others);
    sent.length = 0;
    assert.deepEqual(await Promise.all([last, 20n, 99n, last, 21n, 22n].map(store.cancel)), [
      ...['cancelled', 'already_shipped', 'not_found'],
      ...['already_cancelled', 'already_cancelled', 'not_pending'],
    ]);
    assert.equal(sent.length, 1);
    const shipped = await Promise.all([1n, last, 1n].map(store.ship));
    assert.deepEqual(shipped, ['shipped', 'already_cancelled', 'already_shipped']);
    assert.equal(sent.length, 2);
  });

  for (const [what, body, message] of [
    ['raises an error for a row', "RAISE 'not this one'", /not this one/],
    ['leaves a row unchanged', 'RETURN NULL', UNCHANGED],
  ] as const) {
    test(`if a trigger on the table ${what}, only the cancel of that row fails`, async () => {
      const store = await stored(...idsTo(64).map((id) => ({ id })));
      await run(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN IF NEW.id = 13 THEN ${body}; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON store_orders FOR EACH ROW EXECUTE FUNCTION refuse()`);
      const outcomes = await Promise.allSettled([...idsTo(64), 1n].map(store.cancel));
      const [failed] = outcomes.splice(13, 1);
      assert.ok(failed?.status === 'rejected' && message.test(String(failed.reason)), JSON.stringify(failed));
      assert.deepEqual(outcomes.pop(), { status: 'fulfilled', value: 'already_cancelled' });
      for (const outcome of outcomes) assert.deepEqual(outcome, { status: 'fulfilled', value: 'cancelled' });
      assert.equal((await store.get(13n))?.status, 'pending');
    });
  }

  test('the list has another version after a change by any writer, and the same one after a cancel', async (t) => {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const store = await stored({ id: 1 }, { id: 2 });
    const { version } = await store.list();
    await store.cancel(1n);
    await store.put([]);
    assert.equal((await store.list()).version, version);
    await run('DELETE FROM store_orders WHERE id = 1');
    assert.equal((await store.list()).version, version);
    nowMs = 100;
    assert.notEqual((await store.list()).version, version);
    assert.deepEqual(await listed(store), [{ id: 2n }]);
    for (const { column } of Object.values(FIELDS)) {
      const { version } = await store.list();
      await run(`UPDATE store_orders SET ${column} = ${column}`);
      nowMs += 100;
      assert.notEqual((await store.list()).version, version, `the trigger store_orders_changed lacks ${column}`);
    }
  });
});
