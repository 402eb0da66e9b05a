import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PGlite } from '@electric-sql/pglite';
import type { OrderInput } from 'store-orders';
import {
  createMappedOrderStore,
  createPostgresOrderStore,
  type PostgresRow,
  type PostgresStatement,
} from 'store-orders/postgres';
import { FIELDS } from '../../../dist/orders/fields.js';
import { listed } from '../support/store-suite.js';

// PostgreSQL as a module of WebAssembly, with a single connection. What needs several connections,
// or another version, is in the proofs.
describe('the order store in PostgreSQL', () => {
  let engine: PGlite;
  before(async () => {
    engine = await PGlite.create();
  });
  after(() => engine.close());

  const query = async ({ text, values }: PostgresStatement) => ({
    rows: (await engine.query<PostgresRow>(text, values)).rows,
  });

  /** Creates a store over new tables. */
  async function stored(...orders: readonly OrderInput[]) {
    await engine.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    const store = createPostgresOrderStore({ query });
    await store.migrate();
    await store.put(orders);
    return store;
  }

  test('changes the status of a pending order once; alone and together, each call gets its own outcome', async () => {
    const statuses = ['pending', 'shipped', 'cancelled', 'on_hold'];
    for (const [method, changed, outcomes] of [
      ['cancel', 'cancelled', ['cancelled', 'already_shipped', 'already_cancelled', 'not_pending', 'not_found']],
      ['ship', 'shipped', ['shipped', 'already_shipped', 'already_cancelled', 'not_pending', 'not_found']],
    ] as const) {
      const orders = statuses.flatMap((status, index) => [
        { id: index, status },
        { id: 2n ** 63n - 1n - BigInt(index), status },
      ]);
      const store = await stored(...orders);
      for (const [index, outcome] of outcomes.entries()) assert.equal(await store[method](BigInt(index)), outcome);
      const ids = outcomes.map((_, index) => 2n ** 63n - 1n - BigInt(index));
      assert.deepEqual(await Promise.all(ids.map((id) => store[method](id))), outcomes);
      assert.deepEqual(await Promise.all(ids.map((id) => store[method](id))), [
        `already_${changed}`,
        ...outcomes.slice(1),
      ]);
      const found = await Promise.all([0n, 1n, 2n, 3n].map(store.get));
      assert.deepEqual(
        found.map((order) => order?.status),
        [changed, ...statuses.slice(1)],
      );
    }
  });

  test('a cancel whose order a trigger keeps unchanged fails', async () => {
    const store = await stored({ id: 1 });
    await engine.exec(`CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER keep BEFORE UPDATE ON store_orders FOR EACH ROW EXECUTE FUNCTION keep()`);
    await assert.rejects(store.cancel(1n), /order 1: its status did not change; does a trigger/);
  });

  test('puts all orders or none, and lists them with every digit', async () => {
    const order = {
      id: -(2n ** 63n),
      petId: 2n ** 53n + 1n,
      quantity: 3,
      shipDate: '2030-01-01T00:00:00Z',
      complete: true,
    };
    const store = await stored(order, { id: 5 });
    assert.deepEqual(await store.get(order.id), { ...order, status: 'pending' });
    assert.deepEqual(await store.put([{ id: 6 }, { id: 5 }]), { outcome: 'exists', id: 5n });
    assert.deepEqual(await listed(store), [order, { id: 5n }]);
    assert.deepEqual(await store.put([{ id: 5, quantity: 1, status: 'x' }], { replace: true }), {
      outcome: 'stored',
      count: 1,
    });
    assert.deepEqual(await listed(store), [order, { id: 5n, quantity: 1 }]);
    assert.equal((await store.get(5n))?.status, 'x');
  });

  test('the list has another version after a change by any writer, and the same one after a cancel', async (t) => {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const store = await stored({ id: 1 }, { id: 2 });
    const { version } = await store.list();
    await store.cancel(1n);
    await store.put([]);
    assert.equal((await store.list()).version, version);
    await engine.exec('DELETE FROM store_orders WHERE id = 1');
    assert.equal((await store.list()).version, version);
    nowMs = 100;
    assert.notEqual((await store.list()).version, version);
    assert.deepEqual(await listed(store), [{ id: 2n }]);
    for (const { column } of Object.values(FIELDS)) {
      const { version } = await store.list();
      await engine.exec(`UPDATE store_orders SET ${column} = ${column}`);
      nowMs += 100;
      assert.notEqual((await store.list()).version, version, `the trigger store_orders_changed lacks ${column}`);
    }
  });

  test('a mapped table is read and cancelled in its own words', async () => {
    await engine.exec(`CREATE TABLE parcels (no numeric PRIMARY KEY, state text, qty numeric, ships date);
      INSERT INTO parcels VALUES (1, 'new', 2, '2030-01-01'), (2, 'paid', 2.5, 'infinity'), (3, 'sent', NULL, NULL), (4, 'lost', NULL, NULL)`);
    const store = createMappedOrderStore(
      { query },
      {
        table: 'public.parcels',
        columns: { id: 'no', status: 'state', quantity: 'qty', shipDate: 'ships' },
        statuses: { pending: ['new', 'paid'], shipped: 'sent', cancelled: ["it's over", 'gone'] },
      },
    );
    assert.deepEqual(await listed(store), [
      { id: 1n, quantity: 2, shipDate: '2030-01-01T00:00:00Z' },
      { id: 2n },
      { id: 3n },
      { id: 4n },
    ]);
    const outcomes = await Promise.all([1n, 2n, 3n, 4n, 5n].map((id) => store.cancel(id)));
    assert.deepEqual(outcomes, ['cancelled', 'cancelled', 'already_shipped', 'not_pending', 'not_found']);
    const { rows } = await engine.query('SELECT state FROM parcels ORDER BY no');
    assert.deepEqual(
      rows.map((row) => Object(row).state),
      ["it's over", "it's over", 'sent', 'lost'],
    );
  });
});
