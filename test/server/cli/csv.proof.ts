import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { programIn } from '../support/program.js';

const HEAD = 'id,petId,quantity,shipDate,complete,status\n';

test('orders imported from CSV are exported as the same CSV, down to the last digit of an int64', async () => {
  const { output, cwd } = programIn();
  const rows = [
    '-9223372036854775808,9223372036854775807,-3,2026-01-05T09:30:00.5+02:00,false,on_hold',
    '1,,,,,pending',
    '2,,0,,true,cancelled',
    '9007199254740993,7,,,,shipped',
  ];
  const csv = `${HEAD}${rows.join('\n')}\n`;
  writeFileSync(join(cwd, 'orders.csv'), csv);
  assert.equal(
    await output('orders import orders.csv --statuses on_hold'),
    '4 orders imported: 1 cancelled, 1 on_hold, 1 pending, 1 shipped\n',
  );
  assert.equal(await output('orders export --format csv'), csv);
  const lines = (await output('orders export')).split('\n');
  assert.equal(lines[3], '{"id":9007199254740993,"petId":7,"status":"shipped"}');
});

test('CSV from other programs is imported, with columns in any order, quotes, CR LF, a byte order mark and blank lines', async () => {
  const { output, json } = programIn();
  const input = '\ufeffstatus,"id",shipDate\r\n"shipped",7,"2026-01-05T09:30:00Z"\r\n\r\n,"8",\r\n';
  assert.equal(await output('orders import - --format csv', input), '2 orders imported: 1 pending, 1 shipped\n');
  assert.deepEqual(await json('orders export'), [
    { id: 7, shipDate: '2026-01-05T09:30:00Z', status: 'shipped' },
    { id: 8, status: 'pending' },
  ]);
  await output('orders import - --format csv --db none.db', HEAD);
  assert.equal(await output('orders export --format csv --db none.db'), HEAD);
});

const REFUSALS: readonly (readonly [content: string, says: string])[] = [
  ['', 'stdin:1: the first line must name the columns, such as id,petId,quantity,shipDate,complete,status'],
  [
    'id;petId\n1;2\n',
    'stdin:1: unknown column "id;petId"; the known columns are id, petId, quantity, shipDate, complete, status',
  ],
  ['id,id\n1,1\n', 'stdin:1: the column "id" appears twice'],
  ['petId\n1\n', 'stdin:2: id is missing'],
  ['id,petId\n1,2\n2,3,4\n', 'stdin:3: expected 2 cells as in the first line, but found 3'],
  ['id,petId\n"1,2\n', 'stdin:2: invalid CSV: a cell with a quote must begin and end with a quote, on the same line'],
  ['id\n1\n01\n', 'stdin:3: id must be an integer'],
  ['id\n1e0\n', 'stdin:2: id must be an integer'],
  ['id,quantity\n1,1.5\n', 'stdin:2: quantity must be an integer'],
  ['id,complete\n1,TRUE\n', 'stdin:2: complete must be true or false'],
  ['id,status\n1,pendng\n', 'stdin:2: status must be one of pending, shipped, cancelled, not "pendng"'],
  ['id\n1\n2\n1\n', 'stdin:4: the id 1 is already on line 2'],
];

test('a mistake in CSV is reported with its line, and nothing is imported', async () => {
  const { failure, misuse } = programIn();
  for (const [input, says] of REFUSALS) {
    const message = await failure('orders import - --format csv', input);
    assert.ok(message.startsWith(says) && message.endsWith('; nothing was imported'), message);
  }
  for (const command of ['orders export', 'orders import -']) {
    assert.equal(await misuse(`${command} --format xml`), '--format: expected json or csv, not "xml"');
  }
});
