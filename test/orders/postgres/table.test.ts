import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { before, describe, test } from 'node:test';
import { createMappedOrderStore, type PostgresOrderTable, type PostgresStatement } from 'store-orders/postgres';
import { quoteText } from '../../../dist/orders/postgres/table.js';
import { EDGE_IDS } from '../support/order-arbitrary.js';
import { listed, textOf } from '../support/store-suite.js';
import { COLUMN_VALUES } from './support/column-values.js';
import { useWebAssembly } from './support/webassembly.js';

const SHOP: PostgresOrderTable = {
  table: 'shop.Orders "2026"',
  columns: { id: 'order no', status: 'state', petId: 'pet', quantity: 'qty', shipDate: 'ships', complete: 'done' },
  statuses: { pending: ['new', "it's \\ paid"], cancelled: ['canceled', 'refunded'], shipped: 'sent' },
};
const NAME = 'shop."Orders ""2026"""';
const COLUMNS = { id: 'id', status: 'status' };

describe('the order store over a table of the embedding program in PostgreSQL', () => {
  const { pool, sent, run } = useWebAssembly();
  // In this time zone a day begins earlier than in UTC, so a date read in local time would be the
  // wrong day.
  before(() =>
    run(`SET timezone = 'Asia/Tokyo'; CREATE SCHEMA shop;
    CREATE DOMAIN moment AS timestamptz; CREATE DOMAIN day AS date; CREATE DOMAIN count AS bigint;
    CREATE DOMAIN bit_flag AS smallint; CREATE DOMAIN flag AS bit_flag CHECK (value < 2);
    CREATE TYPE shop.state AS ENUM ('new', 'it''s \\ paid', 'sent', 'canceled', 'refunded', 'on hold', 'pending');
    CREATE TABLE ${NAME} (
      "order no" integer PRIMARY KEY, state shop.state, pet smallint, qty numeric, ships timestamp, done boolean,
      note text NOT NULL DEFAULT 'of no concern');
    INSERT INTO ${NAME} ("order no", state, pet, qty, ships, done) VALUES
      (3, 'sent', 7, 2, '2026-02-03 04:05:06.25', true), (-8, 'new', 1, NULL, 'infinity', false),
      (2, 'it''s \\ paid', NULL, 1, NULL, NULL), (1, 'new', NULL, NULL, NULL, NULL)`),
  );
  const store = createMappedOrderStore(pool, SHOP);

  test('the rows are listed as orders, without the fields that are NULL or out of range', async () => {
    assert.deepEqual(await listed(store), [
      { id: -8n, petId: 1n, complete: false },
      { id: 1n },
      { id: 2n, quantity: 1 },
      { id: 3n, petId: 7n, quantity: 2, shipDate: '2026-02-03T04:05:06.25Z', complete: true },
    ]);
    assert.equal((await store.list()).version, (await store.list()).version);
  });

  test('a cancel reads and writes the statuses of the table', async () => {
    await run(`INSERT INTO ${NAME} ("order no", state) VALUES
      (4, 'refunded'), (5, 'on hold'), (6, NULL), (7, 'pending')`);
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
      assert.equal(await store.cancel(id), outcome, `order ${id}`);
      const [row] = await run(`SELECT state FROM ${NAME} WHERE "order no" = ${id}`);
      assert.equal(row?.['state'], state);
    }
  });

  test('the mapped table may be an updatable view, and its statuses may be numbers', async () => {
    await run(`CREATE TABLE parcels (tenant int, number bigint PRIMARY KEY, state smallint NOT NULL);
      CREATE VIEW own_parcels AS SELECT * FROM parcels WHERE tenant = 1 WITH CHECK OPTION;
      INSERT INTO parcels SELECT 1, id, 0 FROM unnest('{${EDGE_IDS}}'::bigint[]) AS id;
      UPDATE parcels SET tenant = 2 WHERE number = 0`);
    const view = createMappedOrderStore(pool, {
      table: 'own_parcels',
      columns: { id: 'number', status: 'state' },
      statuses: { pending: '0', shipped: '1', cancelled: '9' },
    });
    await view.cancel(1n);
    sent.length = 0;
    assert.deepEqual(await Promise.all([...EDGE_IDS, 1n, -1n].map(view.cancel)), [
      ...EDGE_IDS.map((id) => (id === 0n ? 'not_found' : 'cancelled')),
      ...['not_found', 'already_cancelled'],
    ]);
    assert.equal(sent.length, 1);
    assert.deepEqual(
      await run('SELECT number::text, state FROM parcels ORDER BY parcels.number'),
      EDGE_IDS.map((id) => ({ number: `${id}`, state: id === 0n ? 0 : 9 })),
    );
    assert.equal((await listed(view)).length, EDGE_IDS.length - 1);
  });

  for (const [field, type, values] of COLUMN_VALUES) {
    test(`lists the ${field} of a column of type ${type}, unless the field cannot have its value`, async () => {
      const rows = Object.keys(values).map((value, index) => `(${index}, 'x', ${quoteText(value)})`);
      await run(`DROP TABLE IF EXISTS mapped;
        CREATE TABLE mapped (id numeric(20, 1) PRIMARY KEY, status text, value ${type});
        INSERT INTO mapped VALUES ${rows}`);
      const columns = { ...COLUMNS, [field]: 'value' };
      const store = createMappedOrderStore(pool, { table: 'mapped', columns });
      const expected = Object.values(values).map((value, index) => ({
        id: BigInt(index),
        ...(value !== undefined && { [field]: value }),
      }));
      assert.deepEqual(await listed(store), expected);
    });
  }

  test('a long list of a table with numeric ids is streamed, without the fields that are out of range', async () => {
    await run(`CREATE TABLE many (id numeric(20, 1) PRIMARY KEY, status text, qty bigint);
      INSERT INTO many SELECT i, 'x', 9007199254740992 * (-1) ^ i FROM generate_series(1, 2001) AS i`);
    const columns = { ...COLUMNS, quantity: 'qty' };
    const lending = { ...pool, connect: async () => ({ ...pool, release() {} }) };
    const pages = await createMappedOrderStore(lending, { table: 'many', columns }).list();
    assert.ok(Symbol.asyncIterator in pages && pages.version === undefined, 'it is not read as one text');
    assert.equal(await textOf(pages), JSON.stringify(Array.from({ length: 2_001 }, (_, index) => ({ id: index + 1 }))));
  });

  for (const [type, id, message] of [
    ['numeric', '1.4', 'columns.id: "ids" has an id that is not an int64: invalid input syntax for type bigint: "1.4"'],
    ['numeric', '9223372036854775808', /^columns.id: "ids" has an id that is not an int64: .+9223372036854775808/],
    ['numeric', '-9223372036854775809', /^columns.id: "ids" has an id that is not an int64: .+-9223372036854775809/],
    ['numeric', 'NaN', /^columns.id: "ids" has an id that is not an int64: .+NaN/],
    ['bigint', null, 'columns.id: "ids" has an id that is NULL'],
  ] as const) {
    test(`a list of 2,001 orders with the id ${id} fails at its first page, because no client could cancel this order`, async () => {
      await run(`DROP TABLE IF EXISTS ids; CREATE TABLE ids (id ${type} UNIQUE, status text);
        INSERT INTO ids SELECT -i FROM generate_series(1, 2000) AS i; INSERT INTO ids VALUES (${id && `'${id}'`})`);
      const store = createMappedOrderStore(pool, { table: 'ids', columns: COLUMNS });
      await assert.rejects(async () => store.list(), { message });
    });
  }

  for (const type of ['double precision', 'real', 'text']) {
    test(`ids of the type ${type} are refused by list and cancel, because each could be the neighbour of another`, async () => {
      await run(`DROP TABLE IF EXISTS ids; DROP DOMAIN IF EXISTS kind; CREATE DOMAIN kind AS ${type};
        CREATE TABLE ids (id kind PRIMARY KEY, status text);
        INSERT INTO ids VALUES ('1363392673615939', 'pending'), ('1363392673615940', 'pending') ON CONFLICT DO NOTHING`);
      const store = createMappedOrderStore(pool, { table: 'ids', columns: COLUMNS });
      const message = `columns.id: "ids" has ids of the type ${type}; expected one of smallint, integer, bigint, numeric`;
      await assert.rejects(async () => store.list(), { message });
      await assert.rejects(async () => store.cancel(1363392673615940n), { message });
      const changed = await run("SELECT FROM ids WHERE status <> 'pending'");
      assert.equal(changed.length, 0);
      await run('DROP TABLE ids; CREATE TABLE ids (id bigint PRIMARY KEY, status text)');
      assert.deepEqual(await listed(store), []);
    });
  }

  for (const [revision, isValid] of [
    ['SELECT 1 -- the revision', true],
    ['SELECT 1;', false],
    ['SELECT 1, 2', false],
    ['SELECT i FROM generate_series(1, 2) AS i', false],
    ['SELECT changes FROM absent', false],
    ['changed', false],
  ] as const) {
    test(`the revision "${revision}" ${isValid ? 'is valid' : 'fails the first call, which names the option'}`, async () => {
      await run('DROP TABLE IF EXISTS ids; CREATE TABLE ids (id bigint PRIMARY KEY, status text)');
      const store = createMappedOrderStore(pool, { table: 'ids', columns: COLUMNS, revision });
      if (isValid) return assert.deepEqual(await listed(store), []);
      const message = /^revision: expected an SQL query of one value, without a semicolon at its end: ./;
      await assert.rejects(async () => store.list(), { message });
      await assert.rejects(async () => store.cancel(1n), { message });
    });
  }
});

test('concurrent first calls share one check of the table, which a later call repeats only if it failed', async () => {
  const sent: string[] = [];
  let isAway = true;
  async function query({ text }: PostgresStatement) {
    sent.push(text);
    if (isAway) throw new Error('the server is away');
    return { rows: [{ type: 'bigint' }] };
  }
  const store = createMappedOrderStore({ query }, { table: 'orders', columns: COLUMNS });
  const lists = () => [store.list(), store.list(), store.list()];
  for (const { status } of await Promise.allSettled(lists())) assert.equal(status, 'rejected');
  assert.equal(sent.length, 1);
  isAway = false;
  await Promise.all([...lists(), store.cancel(1n), ...lists()]);
  assert.equal(sent.filter((text) => text === sent[0]).length, 2);
});

test('the table is checked, and its revision read, in the context of the store, and its orders in that of the request', async () => {
  const tenant = new AsyncLocalStorage<string>();
  const sent: string[] = [];
  async function query({ text }: PostgresStatement) {
    sent.push(`${/SELECT 1|string_agg/.exec(text) ?? 'type'} in ${tenant.getStore()}`);
    return { rows: [{ type: 'bigint' }] };
  }
  const table = { table: 'orders', columns: COLUMNS, revision: 'SELECT 1' };
  const store = tenant.run('store', () => createMappedOrderStore({ query }, table));
  await Promise.all(['a.shop', 'b.shop'].map((name) => tenant.run(name, () => listed(store))));
  const shared = ['type in store', 'SELECT 1 in store', 'SELECT 1 in store'];
  assert.deepEqual(sent, [...shared, 'string_agg in a.shop', 'string_agg in b.shop']);
});

for (const [table, message] of [
  [{ table: '', columns: COLUMNS }, 'table: expected a name'],
  [{ table: 'shop.', columns: COLUMNS }, 'table: expected a name'],
  [{ table: 'a.b.c', columns: COLUMNS }, 'table: expected a name such as orders or shop.orders'],
  [{ table: 'a', columns: COLUMNS, revision: '' }, 'revision: expected an SQL query'],
  [{ table: 'a', columns: { id: 'id' } }, 'columns.status: missing'],
  [{ table: 'a', columns: { ...COLUMNS, id: '' } }, 'columns.id: expected a name'],
  [
    { table: 'a', columns: COLUMNS, statuses: null },
    'statuses: expected an object with some of pending, shipped, cancelled',
  ],
  [{ table: 'a', columns: COLUMNS, statuses: { pending: [] } }, 'statuses.pending: expected at least one string'],
  [
    { table: 'a', columns: COLUMNS, statuses: { shipped: 1 } },
    'statuses.shipped: expected a string or an array of strings',
  ],
  [
    { table: 'a', columns: COLUMNS, statuses: { pending: 'cancelled' } },
    "statuses.cancelled: 'cancelled' already stands for pending",
  ],
  [
    { table: 'a', columns: COLUMNS, statuses: { pending: ['new', 'new'] } },
    "statuses.pending: 'new' already stands for pending",
  ],
] as const) {
  test(`createMappedOrderStore throws at once: ${message}`, () => {
    const pool = { query: async () => ({ rows: [] }) };
    assert.throws(() => createMappedOrderStore(pool, Object(table)), { name: 'TypeError', message });
  });
}
