import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OrderStore } from 'store-orders';
import { createMappedOrderStore, type PostgresOrderTable } from 'store-orders/postgres';
import { serializeOrders } from '../../../src/orders/json.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { EDGE_IDS } from '../support/order-arbitrary.js';

const SHOP: PostgresOrderTable = {
  table: 'shop.Orders "2026"',
  columns: { id: 'order no', status: 'state', petId: 'pet', quantity: 'qty', shipDate: 'ships', complete: 'done' },
  statuses: { pending: ['new', "it's \\ paid"], cancelled: ['canceled', 'refunded'], shipped: 'sent' },
};

describe('the order store over a table of the embedding program in PostgreSQL', { skip: missingEngine }, async () => {
  // In this time zone a day begins earlier than in UTC, so a date read in local time would be the
  // wrong day.
  const engine = await startEngine('timezone=Asia/Tokyo');
  const pool = engine.pool();
  await pool.query(`CREATE SCHEMA shop;
    CREATE TYPE shop.state AS ENUM ('new', 'it''s \\ paid', 'sent', 'canceled', 'refunded', 'on hold', 'pending');
    CREATE TABLE shop."Orders ""2026""" (
      "order no" integer PRIMARY KEY, state shop.state, pet smallint, qty numeric, ships timestamp, done boolean,
      note text NOT NULL DEFAULT 'of no concern', cancelled_at timestamptz);
    INSERT INTO shop."Orders ""2026""" ("order no", state, pet, qty, ships, done) VALUES
      (3, 'sent', 7, 2, '2026-02-03 04:05:06.25', true), (-8, 'new', 1, NULL, 'infinity', false),
      (2, 'it''s \\ paid', NULL, 1, NULL, NULL);
    INSERT INTO shop."Orders ""2026""" ("order no", state) VALUES
      (1, 'new'), (4, 'refunded'), (5, 'on hold'), (6, NULL), (7, 'pending'), (10, 'new');
    UPDATE shop."Orders ""2026""" SET qty = 9007199254740993 WHERE "order no" = 10`);
  const store = createMappedOrderStore(pool, SHOP);

  test('the rows are listed as orders, without the fields that are NULL or out of range', async () => {
    const listed = await store.list();
    assert.deepEqual(listed, [
      { id: -8n, petId: 1n, complete: false },
      { id: 1n },
      { id: 2n, quantity: 1 },
      { id: 3n, petId: 7n, quantity: 2, shipDate: '2026-02-03T04:05:06.25Z', complete: true },
      { id: 4n },
      { id: 5n },
      { id: 6n },
      { id: 7n },
      { id: 10n },
    ]);
    assert.equal(await store.list(), listed);
  });

  for (const [id, outcome, state] of [
    [1n, 'cancelled', 'canceled'],
    [1n, 'already_cancelled', 'canceled'],
    [2n, 'cancelled', 'canceled'],
    [3n, 'already_shipped', 'sent'],
    [4n, 'already_cancelled', 'refunded'],
    [5n, 'not_pending', 'on hold'],
    [6n, 'not_pending', null],
    // In this table, `pending` is not one of the words for a pending order.
    [7n, 'not_pending', 'pending'],
    [9n, 'not_found', undefined],
    [2n ** 31n, 'not_found', undefined],
  ] as const) {
    test(`a cancel of order ${id} returns ${outcome}, and leaves the order in the state ${state}`, async () => {
      assert.equal(await store.cancel(id), outcome);
      const { rows } = await pool.query(`SELECT state FROM shop."Orders ""2026""" WHERE "order no"::text = $1`, [
        `${id}`,
      ]);
      assert.equal(rows[0]?.state, state);
    });
  }

  test('a cancel runs the triggers of the table', async () => {
    await pool.query(`CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.cancelled_at = now(); RETURN NEW; END';
      CREATE TRIGGER stamp BEFORE UPDATE ON shop."Orders ""2026""" FOR EACH ROW EXECUTE FUNCTION stamp()`);
    assert.equal(await store.cancel(10n), 'cancelled');
    const { rows } = await pool.query('SELECT cancelled_at FROM shop."Orders ""2026""" WHERE "order no" = 10');
    assert.ok(rows[0].cancelled_at instanceof Date);
  });

  test('the mapped table may be an updatable view, and its statuses may be numbers', async () => {
    await pool.query(`CREATE TABLE parcels (tenant int, number bigint PRIMARY KEY, state smallint NOT NULL);
      CREATE VIEW own_parcels AS SELECT * FROM parcels WHERE tenant = 1 WITH CHECK OPTION`);
    for (const [index, id] of EDGE_IDS.entries()) {
      await pool.query('INSERT INTO parcels VALUES ($1, $2, 0)', [index === 1 ? 2 : 1, `${id}`]);
    }
    const view = createMappedOrderStore(pool, {
      table: 'own_parcels',
      columns: { id: 'number', status: 'state' },
      statuses: { pending: '0', shipped: '1', cancelled: '9' },
    });
    for (const [index, id] of EDGE_IDS.entries()) {
      assert.equal(await view.cancel(id), index === 1 ? 'not_found' : 'cancelled');
    }
    const { rows } = await pool.query('SELECT number::text, state FROM parcels ORDER BY parcels.number');
    assert.deepEqual(
      rows,
      EDGE_IDS.map((id, index) => ({ number: `${id}`, state: index === 1 ? 0 : 9 })),
    );
    assert.equal((await listedIds(view)).length, EDGE_IDS.length - 1);
  });

  for (const [type, value, shipDate] of [
    ['timestamptz', '2026-02-03T04:05:06Z', '2026-02-03T13:05:06+09:00'],
    ['timestamptz', 'infinity', undefined],
    ['timestamptz', '-infinity', undefined],
    ['timestamp', '2026-02-03T04:05:06', '2026-02-03T04:05:06Z'],
    ['timestamp', 'infinity', undefined],
    ['timestamp', '-infinity', undefined],
    ['date', '2026-02-03', '2026-02-03T00:00:00Z'],
    ['date', 'infinity', undefined],
    ['date', '-infinity', undefined],
    ['timestamp', '0044-03-15 12:00:00 BC', undefined],
    ['timestamptz', '10000-01-01T00:00:00Z', undefined],
    ['timestamptz', '1880-01-01T00:00:00Z', undefined],
    ['date', '0044-03-15 BC', undefined],
    ['date', '10000-01-01', undefined],
    ['date', '9999-12-31', '9999-12-31T00:00:00Z'],
    ['text', '2026-02-03T04:05:06.789z', '2026-02-03T04:05:06.789z'],
    ['text', '2024-02-29T23:59:60Z', '2024-02-29T23:59:60Z'],
    ['text', '2026-02-29T04:05:06Z', undefined],
    ['text', '2026-04-31T04:05:06Z', undefined],
    ['text', '2026-02-03T24:05:06Z', undefined],
    ['text', '2026-02-03 04:05:06Z', undefined],
    ['text', '2026-02-03T04:05:06Z\n', undefined],
    ['text', 'im März, "bald" \\ \u{1f600}\u007f', undefined],
  ] as const) {
    test(`streams the ${type} ${value} as ${shipDate}`, async () => {
      await pool.query(
        `DROP TABLE IF EXISTS dated; CREATE TABLE dated (id numeric(20, 1) PRIMARY KEY, status text, date ${type})`,
      );
      await pool.query(`INSERT INTO dated SELECT i, 'x', $1::text::${type} FROM generate_series(1, 2000) AS i`, [
        value,
      ]);
      const columns = { id: 'id', status: 'status', shipDate: 'date' };
      const batches = await createMappedOrderStore(pool, { table: 'dated', columns }).list();
      assert.ok(Symbol.asyncIterator in batches);
      const orders = Array.from({ length: 2_000 }, (_, index) => ({ id: BigInt(index + 1), shipDate }));
      const texts: unknown[] = [];
      for await (const batch of batches) texts.push(batch);
      assert.equal(`[${texts.join(',')}]`, serializeOrders(orders));
    });
  }

  for (const [type, value, integer] of [
    ['numeric', '2.0', 2],
    ['numeric', '2.5', undefined],
    ['numeric', 'NaN', undefined],
    ['numeric', '1e30', undefined],
    ['float8', '-3', -3],
    ['float8', '-0.5', undefined],
    ['float8', 'Infinity', undefined],
  ] as const) {
    test(`lists the ${type} ${value} as ${integer}`, async () => {
      await pool.query(`DROP TABLE IF EXISTS counted;
        CREATE TABLE counted (id int PRIMARY KEY, status text, pet ${type}, count ${type})`);
      await pool.query(`INSERT INTO counted VALUES (1, 'x', $1, $1)`, [value]);
      const fields = { id: 'id', status: 'status', petId: 'pet', quantity: 'count' };
      const listed = await createMappedOrderStore(pool, { table: 'counted', columns: fields }).list();
      const order = integer === undefined ? { id: 1n } : { id: 1n, petId: BigInt(integer), quantity: integer };
      assert.deepEqual(listed, [order]);
    });
  }

  for (const [type, value, complete] of [
    ['boolean', 'false', false],
    ['integer', '1', true],
    ['text', 'no', false],
  ] as const) {
    test(`lists the ${type} ${value} as ${complete}`, async () => {
      await pool.query(
        `DROP TABLE IF EXISTS checked; CREATE TABLE checked (id int PRIMARY KEY, status text, done ${type})`,
      );
      await pool.query(`INSERT INTO checked VALUES (1, 'x', $1)`, [value]);
      const fields = { id: 'id', status: 'status', complete: 'done' };
      const listed = await createMappedOrderStore(pool, { table: 'checked', columns: fields }).list();
      assert.deepEqual(listed, [{ id: 1n, complete }]);
    });
  }

  for (const id of ['1.4', '9223372036854775808', 'NaN']) {
    test(`a list with the id ${id} fails, because no client could cancel this order`, async () => {
      await pool.query('DROP TABLE IF EXISTS broken; CREATE TABLE broken (id numeric PRIMARY KEY, status text)');
      await pool.query(`INSERT INTO broken VALUES (1, 'x'), ($1, 'x')`, [id]);
      const store = createMappedOrderStore(pool, { table: 'broken', columns });
      await assert.rejects(async () => store.list(), new RegExp(`bigint.*${id}|${id}.*bigint`));
    });
  }

  const columns = { id: 'id', status: 'status' };
  for (const [table, message] of [
    [{ table: '', columns }, 'table: expected a name'],
    [{ table: 'shop.', columns }, 'table: expected a name'],
    [{ columns }, 'table.table: missing'],
    [{ table: 'a' }, 'table.columns: missing'],
    [{ table: 'a', columns: { id: 'id' } }, 'columns.status: missing'],
    [{ table: 'a', columns: { ...columns, id: '' } }, 'columns.id: expected a name'],
    [{ table: 'a', columns, statuses: null }, 'statuses: expected an object with pending, shipped, cancelled'],
    [{ table: 'a', columns, statuses: { pending: [] } }, 'statuses.pending: expected at least one string'],
    [{ table: 'a', columns, statuses: { shipped: 1 } }, 'statuses.shipped: expected strings'],
    [
      { table: 'a', columns, statuses: { pending: 'cancelled' } },
      "statuses.cancelled: 'cancelled' already stands for pending",
    ],
  ] as const) {
    test(`refuses at once: ${message}`, () => {
      assert.throws(() => createMappedOrderStore(pool, Object(table)), { name: 'TypeError', message });
    });
  }
});

async function listedIds(store: OrderStore): Promise<readonly bigint[]> {
  const listed = await store.list();
  assert.ok(Array.isArray(listed));
  return listed.map(({ id }) => id);
}
