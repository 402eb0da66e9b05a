import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { createMappedOrderStore, type PostgresOrderTable } from 'store-orders/postgres';
import { quoteText } from '../../../dist/orders/postgres/table.js';
import { EDGE_IDS } from '../support/order-arbitrary.js';
import { listed, textOf } from '../support/store-suite.js';
import { useWebAssembly } from './support/webassembly.js';

const SHOP: PostgresOrderTable = {
  table: 'shop.Orders "2026"',
  columns: { id: 'order no', status: 'state', petId: 'pet', quantity: 'qty', shipDate: 'ships', complete: 'done' },
  statuses: { pending: ['new', "it's \\ paid"], cancelled: ['canceled', 'refunded'], shipped: 'sent' },
};
const NAME = 'shop."Orders ""2026"""';
const COLUMNS = { id: 'id', status: 'status' };

const TIMES = {
  '0044-03-15 BC': undefined,
  '4713-01-01 BC': undefined,
  '10000-01-02': undefined,
  '294275-01-01': undefined,
  infinity: undefined,
  '-infinity': undefined,
};
const INTEGERS = { '2': 2, '2.5': undefined, NaN: undefined, '1e30': undefined };
const WHOLE = { '0': 0, '-3': -3, '30000': 30_000 };
const NO_NUMBERS = {
  '': undefined,
  two: undefined,
  '0x1F': undefined,
  '1_0': undefined,
  '--1': undefined,
  e1: undefined,
};
const BITS = { '0': false, '1': true, '2': undefined, '-1': undefined };

/** For each field and type of column: values, and what is listed for them. */
const VALUES: readonly (readonly [field: string, type: string, values: Readonly<Record<string, unknown>>])[] = [
  ['shipDate', 'date', { '2026-02-03': '2026-02-03T00:00:00Z', '9999-12-31': '9999-12-31T00:00:00Z', ...TIMES }],
  ['shipDate', 'timestamp', { '2026-02-03T04:05:06': '2026-02-03T04:05:06Z', ...TIMES }],
  ...['timestamptz', 'moment'].map(
    (type) =>
      [
        'shipDate',
        type,
        {
          '2026-02-03T04:05:06.5+09': '2026-02-02T19:05:06.5Z',
          '1880-01-01T00:00:00Z': '1880-01-01T00:00:00Z',
          '0001-01-01T00:00:00Z': '0001-01-01T00:00:00Z',
          '9999-12-31T23:59:59Z': '9999-12-31T23:59:59Z',
          ...TIMES,
        },
      ] as const,
  ),
  ['shipDate', 'day', { '2026-02-03': '2026-02-03T00:00:00Z' }],
  [
    'shipDate',
    'text',
    {
      '2026-02-03T04:05:06.789z': '2026-02-03T04:05:06.789z',
      '2024-02-29T23:59:60Z': '2024-02-29T23:59:60Z',
      '2026-02-29T04:05:06Z': undefined,
      '2026-04-31T04:05:06Z': undefined,
      '2026-02-03T24:05:06Z': undefined,
      '2026-02-03 04:05:06Z': undefined,
      '2026-02-03T04:05:06Z\n': undefined,
      'im März, "bald" \\ \u{1f600}\u007f': undefined,
    },
  ],
  ['shipDate', 'integer', { '2026': undefined }],
  ['quantity', 'numeric', { ...INTEGERS, '9007199254740992': undefined, '-9007199254740992': undefined }],
  ['quantity', 'bigint', { ...WHOLE, '9007199254740991': 2 ** 53 - 1, '9007199254740992': undefined }],
  ['quantity', 'smallint', WHOLE],
  [
    'quantity',
    'float8',
    { ...INTEGERS, ...WHOLE, '-0.5': undefined, Infinity: undefined, '9007199254740992': undefined },
  ],
  ['quantity', 'real', { ...WHOLE, '16777216': 2 ** 24, '16777218': undefined }],
  [
    'quantity',
    'text',
    { ...INTEGERS, ...WHOLE, ...NO_NUMBERS, '1e3': 1_000, '2.0': 2, '1e999': undefined, '1e1000': undefined },
  ],
  ['quantity', 'boolean', { true: undefined, false: undefined }],
  ['petId', 'numeric', { '2.0': 2n, '9007199254740993': 9007199254740993n, '9223372036854775808': undefined }],
  ['petId', 'numeric', { '-9223372036854775808': -(2n ** 63n), '-9223372036854775809': undefined }],
  ['petId', 'bigint', { '9223372036854775807': 2n ** 63n - 1n, '-9223372036854775808': -(2n ** 63n) }],
  ['petId', 'float8', { '9007199254740991': 9007199254740991n, '9007199254740994': undefined }],
  ['petId', 'count', { '9007199254740993': 9007199254740993n }],
  ['complete', 'boolean', { true: true, false: false }],
  ['complete', 'numeric', { ...BITS, '1.0': true, '0.5': undefined, NaN: undefined }],
  ...['smallint', 'integer', 'bigint', 'float8'].map((type) => ['complete', type, BITS] as const),
  ['complete', 'bit', { '0': false, '1': true }],
  ['complete', 'flag', { '1': true }],
  [
    'complete',
    'text',
    { no: false, T: true, ON: true, '': undefined, maybe: undefined, '2': undefined, '01': undefined },
  ],
];

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

  for (const [field, type, values] of VALUES) {
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
