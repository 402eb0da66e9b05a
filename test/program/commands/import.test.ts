import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { readOrders } from '../../../dist/program/commands/import/reader.js';
import { commandsIn, programIn } from '../support/program.js';

const GOOD = '{"id":1}\n';
const SAFE = 'must be an integer between -(2^53-1) and 2^53-1';
const PLACED =
  'status must be one of pending, shipped, cancelled, not "placed"; to accept other statuses, use --statuses';
const DATE_TIME = 'must be an RFC 3339 date-time such as 2026-01-31T12:00:00Z';
const CSV_HEAD = 'id,petId,quantity,shipDate,complete,status\n';

type Refusal = readonly [content: string, says: string];

const JSON_REFUSALS: readonly Refusal[] = [
  [`${GOOD}{"id":2,"quantity":"3"}\n`, `2: quantity ${SAFE}`],
  [`${GOOD}\n{"petId":2}\n`, '3: id is missing'],
  [
    `${GOOD}{"id":2,"status":"pendng"}`,
    '2: status must be one of pending, shipped, cancelled, not "pendng"; to accept other statuses, use --statuses',
  ],
  [`${GOOD}\u00a0\n`, '2: invalid JSON, column 1: expected a value'],
  [`${GOOD}{"id":2,\n`, '2: invalid JSON, column 9: expected a string'],
  [`${GOOD}1`, '2: the record must be an object'],
  [`${GOOD}null`, '2: the record must be an object'],
  [`${GOOD}{"id":null}`, '2: id is missing'],
  [`${GOOD}{"id":2,"shipDate":3}`, `2: shipDate ${DATE_TIME}`],
  [`${GOOD}{"id":2,"status":"placed","shipDate":null}`, `2: ${PLACED}`],
  [`${GOOD}{"id":2,"pet id":3}`, '2: pet id is not a field of an order'],
  [`${GOOD}{"id":2,"a\\nb":3}`, '2: "a\\nb" is not a field of an order'],
  ['', '1: the file is empty; write [] for an empty list'],
  ['[{"id":1},\n {"id":2,\n  "petId":"x"}]', '2: petId must be an integer'],
  ['[{"id":1},\n {"id":2}', '2: invalid JSON, column 10: expected ]'],
  ['[{"id":1}]\n{"id":2}', '2: invalid JSON, column 1: unexpected text after the JSON value'],
  ['[{"id":1},\n{"id":2,"status":"\ufffd"}]', '2: the text is not UTF-8'],
];

const KNOWN = 'the known columns are id, petId, quantity, shipDate, complete, status';
const CSV_REFUSALS: readonly Refusal[] = [
  ['', '1: the first line must name the columns, such as id,petId,quantity,shipDate,complete,status'],
  ['id;petId\n1;2\n', `1: unknown column "id;petId"; ${KNOWN}`],
  ['id,\n1,2\n', `1: unknown column ""; ${KNOWN}`],
  ['id,id\n1,1\n', '1: the column "id" appears twice'],
  ['id,petId\n1,2\n2,3,4\n', '3: expected 2 cells as in the first line, but found 3'],
  ['id,petId\n1,2\n2\n', '3: expected 2 cells as in the first line, but found 1'],
  ['id,petId\n"1,2\n', '2: invalid CSV: a cell with a quote must begin and end with a quote, on the same line'],
  ['id\n1\n01\n', '3: id must be an integer'],
  ['id,ID\n1,1\n', '1: the column "id" appears twice'],
  ['id,complete\n1,yes\n', '2: complete must be true or false'],
  ['id,petId\n1,\n,2\n', '3: id is missing'],
  ...['9007199254740992.0', '9.00719925474099E+15', '-9.00719925474E+15'].map(
    (id): Refusal => [
      `id\n1\n${id}\n`,
      `3: id "${id}" was rounded by another program; write the file again with this column as text`,
    ],
  ),
  ...['1.5', '1,000', '5.', '1E+2'].map(
    (id): Refusal => [`id\n1\n${id.includes(',') ? `"${id}"` : id}\n`, '3: id must be an integer'],
  ),
  ...['2026-01-31', '2026-01-31 12:00:00', '31/01/2026 12:00', '2026-01-31T12:00:00+00'].map(
    (date): Refusal => [`id,shipDate\n1,${date}\n`, `2: shipDate ${DATE_TIME}`],
  ),
];

async function importFrom(chunks: Iterable<string>, format: 'json' | 'csv'): Promise<void> {
  for await (const _ of readOrders(Readable.from(chunks), format, []));
}

test('an invalid record is reported with its file, line and field; the import stores nothing and exits 1', async () => {
  for (const [format, refusals] of [
    ['json', JSON_REFUSALS],
    ['csv', CSV_REFUSALS],
  ] as const) {
    for (const [content, says] of refusals) {
      const [, line, message = ''] = /^(\d): (.+)$/.exec(says) ?? [];
      await assert.rejects(importFrom([content], format), { line: Number(line), message });
    }
  }
  // An array that is longer than the longest string. Its lines share their memory.
  const lines = `\n${' '.repeat(2 ** 22)}`.repeat(4).concat('\n');
  const message = 'the array is too large; write one object per line instead';
  await assert.rejects(importFrom(['[', ...Array.from({ length: 33 }, () => lines)], 'json'), { line: 1, message });

  const { failure, cwd } = commandsIn();
  for (const [file, content, says] of [
    ['orders.csv', Buffer.from('id\n1\n\xe9', 'latin1'), '3: the text is not UTF-8'],
    ['orders.ndjson', '[{"id":1},\n {"id":1}]', '2: the id 1 is already on line 1'],
  ] as const) {
    writeFileSync(join(cwd, file), content);
    assert.equal(await failure(`orders import ${file}`), `${file}:${says}; nothing was imported`);
  }
  for (const name of ['absent.ndjson', '.']) {
    assert.equal(await failure(`orders import ${name}`), `cannot read ${name}; check that it is a readable file`);
  }
  assert.deepEqual(readdirSync(cwd), ['orders.csv', 'orders.ndjson'], 'the failed import creates no database');
});

test('an import after whose valid orders one is invalid or already stored stores none of them; --replace overwrites', async () => {
  const { output, failure } = commandsIn();
  const stored = '{"id":1,"status":"shipped"}\n';
  await output('orders import -', stored);
  const good = Array.from({ length: 2_500 }, (_, id) => `{"id":${id + 10}}\n`).join('');
  for (const [last, says] of [
    ['{"id":1}', 'the id 1 is already stored; use --replace to overwrite it'],
    ['{"id":11}', 'the id 11 is already on line 2'],
    ['{"id":2.0000000000000001}', 'id must be an integer'],
  ]) {
    assert.equal(await failure('orders import -', `${good}${last}`), `stdin:2501: ${says}; nothing was imported`);
    assert.equal(await output('orders export'), stored);
  }
  const array = ['[{"id":20}', '{"id":21}', '{"id":22}', '{"id":23}', '{"id":"24"}]'].join(',\n');
  assert.match(await failure('orders import -', array), /^stdin:5: id /);
  assert.equal(await output('orders import - --replace', `${good}{"id":1}`), '2501 orders imported: 2501 pending\n');
  assert.equal(await output('orders show 1 --json'), '{"id":1,"status":"pending"}\n');
});

test('an import accepts arrays, CSV with columns in any order, byte order marks, CR LF, blank lines and the statuses that --statuses names, and prints counts by status', async () => {
  const { output, json } = commandsIn();
  for (const [format, input, says] of [
    ['json', '[]', '0 orders imported: stdin has no orders'],
    ['json', '\n [ {"id":1,"status":"cancelled"} ]\n', '1 order imported: 1 cancelled'],
    ['json', '{"id":1e1}\n\t \r\n', '1 order imported: 1 pending'],
    ['json', '\ufeff{"id":2}\r\n\r\n{"id":3,"status":"shipped"}', '2 orders imported: 1 pending, 1 shipped'],
    ['json', '\ufeff[{"id":4}]', '1 order imported: 1 pending'],
    ['csv', CSV_HEAD, '0 orders imported: stdin has no orders'],
    ['csv', '\ufeffstatus,"id",petId\r\n"shipped",5,"6"\r\n\r\n,"7",\r\n', '2 orders imported: 1 pending, 1 shipped'],
  ] as const) {
    assert.equal(await output(`orders import - --format ${format}`, input), `${says}\n`);
  }
  assert.equal(
    await output('orders import - --statuses on_hold,returned', '{"id":8,"status":"returned"}\n{"id":9}'),
    '2 orders imported: 1 pending, 1 returned\n',
  );
  const stored = ['1,,,,,cancelled', '2,,,,,pending', '3,,,,,shipped', '4,,,,,pending'];
  stored.push('5,6,,,,shipped', '7,,,,,pending', '8,,,,,returned', '9,,,,,pending', '10,,,,,pending', '');
  assert.equal(await output('orders export --format csv'), CSV_HEAD + stored.join('\n'));
  assert.deepEqual(await json('orders import - --replace', '[{"id":1}]'), { imported: 1, byStatus: { pending: 1 } });
});

test('an import accepts what pandas, spreadsheets and Java write, where its meaning is exact', async () => {
  const { output, cwd } = programIn();
  const csv = [
    'ID,PetId,Quantity,ShipDate,complete,STATUS',
    '1,5.0,-3.00,2026-01-31 12:00:00.5+00:00,TRUE,',
    ',,,,,',
    '2,9007199254740991.0,0.0,2026-01-31T12:00:00-0530,False,shipped',
    '9007199254740993,,,,,',
    ',,,',
    '',
  ];
  writeFileSync(join(cwd, 'ORDERS.CSV'), csv.join('\r\n'));
  assert.equal(await output('orders import ORDERS.CSV'), '3 orders imported: 2 pending, 1 shipped\n');
  await output('orders import -', '{"id":3,"petId":5.0,"quantity":null,"shipDate":"2026-01-31T12:00:00.000+0000"}');
  assert.equal(
    await output('orders export --format csv'),
    `${CSV_HEAD}${[
      '1,5,-3,2026-01-31T12:00:00.5+00:00,true,pending',
      '2,9007199254740991,0,2026-01-31T12:00:00-05:30,false,shipped',
      '3,5,,2026-01-31T12:00:00.000+00:00,,pending',
      '9007199254740993,,,,,pending',
    ].join('\n')}\n`,
  );
});

/** The least and the greatest id, each field with and without a value, and orders between them. */
const EXPORTED = [
  '{"id":-9223372036854775808,"petId":9223372036854775807,"quantity":0,"shipDate":"2026-01-28T10:00:00.5+02:00","complete":true,"status":"in_transit"}',
  '{"id":0,"complete":false,"status":"shipped"}',
  ...Array.from({ length: 2_000 }, (_, i) => `{"id":${9007199254740993n + BigInt(i)},"status":"pending"}`),
  '{"id":9223372036854775807,"quantity":-3,"status":"cancelled"}',
  '',
].join('\n');
const EXPORTED_CSV = `${CSV_HEAD}-9223372036854775808,9223372036854775807,0,2026-01-28T10:00:00.5+02:00,true,in_transit
0,,,,false,shipped
9007199254740993,,,,,pending
`;

test('an export contains the imported orders byte for byte, sorted by id; its array and its CSV can be imported again', async () => {
  const { output, cwd } = commandsIn();
  await output('orders import - --statuses in_transit', EXPORTED.split('\n').reverse().join('\n'));
  assert.ok((await output('orders export')) === EXPORTED, 'the same bytes');
  const array = await output('orders export --json');
  assert.equal(JSON.parse(array).length, 2_003);
  const csv = await output('orders export --format csv');
  assert.equal(csv.slice(0, EXPORTED_CSV.length), EXPORTED_CSV);
  for (const [file, content] of [
    ['orders.json', array],
    ['orders.csv', csv],
  ] as const) {
    writeFileSync(join(cwd, file), content);
    await output(`orders import ${file} --statuses in_transit --db ${file}.db`);
    assert.ok((await output(`orders export --db ${file}.db`)) === EXPORTED, file);
  }
});

test('an export of no orders is an empty text, an empty array, or only the names of the columns', async () => {
  const { output } = commandsIn();
  await output('orders import -', '[]');
  assert.equal(await output('orders export'), '');
  assert.equal(await output('orders export --json'), '[]\n');
  assert.equal(await output('orders export --format csv'), CSV_HEAD);
});

test('an import puts back the trigger of the revision of a file from which it was dropped', async () => {
  const { cwd, output } = programIn();
  await output('orders import -', '{"id":1}');
  const database = openSqliteDatabase(join(cwd, 'store-orders.db'));
  database.exec('DROP TRIGGER orders_inserted');
  await output('orders import -', '{"id":2}');
  // SQLite refuses to drop a missing trigger.
  database.exec('DROP TRIGGER orders_inserted');
  database.close();
});
