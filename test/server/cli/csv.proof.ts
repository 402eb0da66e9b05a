import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { answerOf, run } from '../support/program.js';

const HEAD = 'id,petId,quantity,shipDate,complete,status\n';

test('orders imported from CSV are exported as the same CSV, down to the last digit of an int64', async () => {
  const cwd = temporaryDirectory();
  const rows = [
    '-9223372036854775808,9223372036854775807,-3,2026-01-05T09:30:00.5+02:00,false,on_hold',
    '1,,,,,pending',
    '2,,0,,true,cancelled',
    '9007199254740993,7,,,,shipped',
  ];
  const csv = `${HEAD}${rows.join('\n')}\n`;
  writeFileSync(join(cwd, 'orders.csv'), csv);
  const imported = await run(['orders', 'import', 'orders.csv', '--statuses', 'on_hold'], { cwd });
  assert.equal(imported.stdout, '4 orders imported: 1 cancelled, 1 on_hold, 1 pending, 1 shipped\n');
  assert.equal((await run(['orders', 'export', '--format', 'csv'], { cwd })).stdout, csv);
  const lines = (await run(['orders', 'export'], { cwd })).stdout.split('\n');
  assert.equal(lines[3], '{"id":9007199254740993,"petId":7,"status":"shipped"}');
});

test('CSV from other programs is imported, with columns in any order, quotes, CR LF, a byte order mark and blank lines', async () => {
  const cwd = temporaryDirectory();
  const input = '\ufeffstatus,"id",shipDate\r\n"shipped",7,"2026-01-05T09:30:00Z"\r\n\r\n,"8",\r\n';
  const imported = await run(['orders', 'import', '-', '--format', 'csv'], { cwd, input });
  assert.equal(imported.stdout, '2 orders imported: 1 pending, 1 shipped\n');
  assert.deepEqual(await answerOf(['orders', 'export'], { cwd }), [
    { id: 7, shipDate: '2026-01-05T09:30:00Z', status: 'shipped' },
    { id: 8, status: 'pending' },
  ]);
  await run(['orders', 'import', '-', '--format', 'csv', '--db', 'none.db'], { cwd, input: HEAD });
  assert.equal((await run(['orders', 'export', '--format', 'csv', '--db', 'none.db'], { cwd })).stdout, HEAD);
});

const REFUSALS: readonly (readonly [content: string, says: string])[] = [
  ['', 'stdin:1: the first line must name the columns, such as id,petId,quantity,shipDate,complete,status'],
  [
    'id;petId\n1;2\n',
    'stdin:1: unknown column "id;petId"; the known columns are id, petId, quantity, shipDate, complete, status',
  ],
  ['id,id\n1,1\n', 'stdin:1: the column "id" appears twice'],
  ['id,"petId\n', 'stdin:1: invalid CSV: a cell with a quote must begin and end with a quote, on the same line'],
  ['petId\n1\n', 'stdin:2: id is missing'],
  [`${HEAD}1\n`, 'stdin:2: expected 6 cells as in the first line, but found 1'],
  ['id,petId\n1,2\n2,3,4\n', 'stdin:3: expected 2 cells as in the first line, but found 3'],
  ['id,petId\n"1,2\n', 'stdin:2: invalid CSV: a cell with a quote must begin and end with a quote, on the same line'],
  ['id\n1\n01\n', 'stdin:3: id must be an integer'],
  ['id\n1e0\n', 'stdin:2: id must be an integer'],
  ['id\n9223372036854775808\n', 'stdin:2: id must fit into int64, -2^63 to 2^63-1'],
  ['id,quantity\n1,1.5\n', 'stdin:2: quantity must be an integer'],
  ['id,complete\n1,TRUE\n', 'stdin:2: complete must be true or false'],
  ['id,status\n1,pendng\n', 'stdin:2: status must be one of pending, shipped, cancelled, not "pendng"'],
  ['id\n1\n2\n1\n', 'stdin:4: the id 1 is already on line 2'],
];

test('a mistake in CSV is reported with its line, and nothing is imported', async () => {
  const cwd = temporaryDirectory();
  for (const [input, says] of REFUSALS) {
    const { code, stderr } = await run(['orders', 'import', '-', '--format', 'csv'], { cwd, input });
    assert.equal(code, 1, says);
    assert.ok(stderr.startsWith(`store-orders: ${says}`) && stderr.endsWith('; nothing was imported\n'), stderr);
  }
  for (const command of ['export', 'import -']) {
    const { code, stderr } = await run(['orders', ...command.split(' '), '--format', 'xml'], { cwd });
    assert.deepEqual([code, stderr], [2, 'store-orders: --format: expected json or csv, not "xml"\n']);
  }
});
