import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sampled } from '../../support/sampled.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { answerOf, run, spawnProgram } from '../support/program.js';

const GOOD = '{"id":1}\n';

const REFUSALS: readonly (readonly [content: string | Uint8Array, says: string])[] = [
  [`${GOOD}{"id":2,"quantity":"3"}\n`, 'orders.ndjson:2: quantity must be an integer'],
  [`${GOOD}{"id":2,"quantity":1.5}\n`, 'orders.ndjson:2: quantity must be an integer between -(2^53-1) and 2^53-1'],
  [`${GOOD}\n{"petId":2}\n`, 'orders.ndjson:3: id is missing'],
  [`${GOOD}{"id":9223372036854775808}`, 'orders.ndjson:2: id must fit into int64, -2^63 to 2^63-1'],
  [`${GOOD}{"id":2,"petId":null}`, 'orders.ndjson:2: petId must be an integer'],
  [`${GOOD}{"id":2,"shipDate":"2026-02-30T00:00:00Z"}`, 'orders.ndjson:2: shipDate must be an RFC 3339 date-time'],
  [`${GOOD}{"id":2,"complete":1}`, 'orders.ndjson:2: complete must be true or false'],
  [`${GOOD}{"id":2,"status":"Shipped"}`, 'orders.ndjson:2: status must be a lower-case word'],
  [`${GOOD}{"id":2,"colour":"red"}`, 'orders.ndjson:2: colour is not a field of an order'],
  [
    `${GOOD}{"id":2,"status":"pendng"}`,
    'orders.ndjson:2: status must be one of pending, shipped, cancelled, not "pendng"; to accept other statuses, use --statuses',
  ],
  [`${GOOD}{"id":1.5e-400}`, 'orders.ndjson:2: id must be an integer; nothing'],
  [`${GOOD}{"id":"2"}`, 'orders.ndjson:2: id must be an integer; nothing'],
  [`${GOOD}\u00a0\n`, 'orders.ndjson:2: invalid JSON, column 1: expected a value'],
  [`${GOOD}\u2028\n`, 'orders.ndjson:2: invalid JSON, column 1: expected a value'],
  [`${GOOD}\v\n`, 'orders.ndjson:2: invalid JSON, column 1: expected a value'],
  [`${GOOD}\f\n`, 'orders.ndjson:2: invalid JSON, column 1: expected a value'],
  [`${GOOD}{"id":2,"shipDate":"2026-01-31T23:58:60Z"}`, 'orders.ndjson:2: shipDate must be an RFC 3339 date-time'],
  [`${GOOD}"2"`, 'orders.ndjson:2: the record must be an object'],
  [`${GOOD}{"id":2}\r\n{"id":1}`, 'orders.ndjson:3: the id 1 is already on line 1'],
  [`${GOOD}{"id":2,\n`, 'orders.ndjson:2: invalid JSON, column 9: expected a string'],
  [`${GOOD}{"id":2} {"id":3}\n`, 'orders.ndjson:2: invalid JSON, column 10: unexpected text after the JSON value'],
  [`${GOOD}${'['.repeat(100_000)}\n`, 'orders.ndjson:2: invalid JSON, column 101: nested too deeply'],
  [`${GOOD}{"id":2,"id":3}\n`, 'orders.ndjson:2: invalid JSON, column 9: the name "id" appears twice'],
  [Buffer.from(`${GOOD}{"id":2,"status":"\xff"}\n`, 'latin1'), 'orders.ndjson:2: the text is not UTF-8'],
  ['', 'orders.ndjson:1: the file is empty; write [] for an empty list'],
  [' \n\t\n', 'orders.ndjson:1: the file is empty; write [] for an empty list'],
  ['[{"id":1},\n {"id":2,\n  "petId":"x"}]', 'orders.ndjson:2: petId must be an integer'],
  ['[{"id":1},\n {"id":1}]', 'orders.ndjson:2: the id 1 is already on line 1'],
  ['[{"id":1},\n {"id":2}', 'orders.ndjson:2: invalid JSON, column 10: expected ]'],
  ['[{"id":1}]\n{"id":2}', 'orders.ndjson:2: invalid JSON, column 1: unexpected text after the JSON value'],
  [Buffer.from('[{"id":1},\n{"id":2,"status":"\xe9"}]', 'latin1'), 'orders.ndjson:2: the text is not UTF-8'],
];

test('an invalid record is reported with its file, line and field; the import stores nothing and exits 1', async () => {
  const cwd = temporaryDirectory();
  for (const [content, says] of sampled(REFUSALS)) {
    writeFileSync(join(cwd, 'orders.ndjson'), content);
    const { code, stdout, stderr } = await run(['orders', 'import', 'orders.ndjson'], { cwd });
    assert.deepEqual([code, stdout], [1, ''], says);
    assert.ok(stderr.startsWith(`store-orders: ${says}`) && stderr.endsWith('; nothing was imported\n'), stderr);
  }
  assert.deepEqual(readdirSync(cwd), ['orders.ndjson'], 'the failed import creates no database');
});

test('an import refuses an id that is already stored, and names the line of the id, unless --replace is given', async () => {
  const cwd = temporaryDirectory();
  await run(['orders', 'import', '-'], { cwd, input: '{"id":5}' });
  const input = '{"id":4}\n{"id":5,"status":"shipped"}';
  const refused = await run(['orders', 'import', '-'], { cwd, input });
  assert.deepEqual(refused, {
    code: 1,
    stdout: '',
    stderr: 'store-orders: stdin:2: the id 5 is already stored; use --replace to overwrite it; nothing was imported\n',
  });
  assert.equal((await run(['orders', 'show', '4'], { cwd })).code, 1, 'the refused import stores no order');
  const replaced = await run(['orders', 'import', '-', '--replace'], { cwd, input });
  assert.equal(replaced.stdout, '2 orders imported: 1 pending, 1 shipped\n');
  assert.equal((await run(['orders', 'show', '5', '--json'], { cwd })).stdout, '{"id":5,"status":"shipped"}\n');
});

test('an import accepts an array, a byte order mark, CR LF and a last line without a line break, and prints counts by status', async () => {
  const cwd = temporaryDirectory();
  const rows: readonly (readonly [input: string, says: string])[] = [
    ['[]', '0 orders imported'],
    ['\n [ {"id":1,"status":"cancelled"} ]\n', '1 order imported: 1 cancelled'],
    ['{"id":1.0e1}\n\t \r\n', '1 order imported: 1 pending'],
    ['\ufeff{"id":2}\r\n\r\n{"id":3,"status":"shipped"}', '2 orders imported: 1 pending, 1 shipped'],
    ['\ufeff[{"id":4}]', '1 order imported: 1 pending'],
  ];
  for (const [input, says] of rows) {
    assert.deepEqual(await run(['orders', 'import', '-'], { cwd, input }), {
      code: 0,
      stdout: `${says}\n`,
      stderr: '',
    });
  }
  const answer = await answerOf(['orders', 'import', '-', '--replace'], { cwd, input: '[{"id":1}]' });
  assert.deepEqual(answer, { imported: 1, byStatus: { pending: 1 } });
});

test('an import with a mistake after many valid orders stores none of them, and creates no database', async () => {
  const cwd = temporaryDirectory();
  const good = Array.from({ length: 2_500 }, (_, id) => `{"id":${id + 10}}\n`).join('');
  const refuse = (input: string, ...args: readonly string[]) => run(['orders', 'import', '-', ...args], { cwd, input });
  assert.match((await refuse(`${good}{"id":3,}`)).stderr, /^store-orders: stdin:2501: invalid JSON/);
  assert.deepEqual(readdirSync(cwd), []);
  await run(['orders', 'import', '-'], { cwd, input: '{"id":1,"status":"shipped"}' });
  for (const [last, says] of [
    ['{"id":1}', 'the id 1 is already stored'],
    ['{"id":11}', 'the id 11 is already on line 2'],
    ['{"id":-1,"id":2}', 'invalid JSON, column 10: the name "id" appears twice'],
    ['{"id":2.0000000000000001}', 'id must be an integer'],
  ] as const) {
    const { code, stderr } = await refuse(`${good}${last}`);
    assert.equal(code, 1);
    assert.ok(stderr.startsWith(`store-orders: stdin:2501: ${says}`), stderr);
    assert.equal((await run(['orders', 'export'], { cwd })).stdout, '{"id":1,"status":"shipped"}\n');
  }
});

test('an import accepts the additional statuses that --statuses names; an invalid list of statuses is refused', async () => {
  const cwd = temporaryDirectory();
  const input = '{"id":1,"status":"returned"}\n{"id":2,"status":"on_hold"}\n{"id":3}';
  const imported = await run(['orders', 'import', '-', '--statuses', 'on_hold,returned'], { cwd, input });
  assert.equal(imported.stdout, '3 orders imported: 1 on_hold, 1 pending, 1 returned\n');
  for (const statuses of ['', 'on hold', 'returned,', 'Returned']) {
    const { code, stderr } = await run(['orders', 'import', '-', '--statuses', statuses], { cwd, input });
    assert.equal(code, 2);
    assert.equal(
      stderr,
      `store-orders: --statuses: expected lower-case words separated by commas, such as returned,on_hold, not ${JSON.stringify(statuses)}\n`,
    );
  }
});

test('an import of a file that cannot be read prints the name of the file', async () => {
  const cwd = temporaryDirectory();
  const { code, stderr } = await run(['orders', 'import', 'absent.ndjson'], { cwd });
  assert.deepEqual([code, stderr], [1, 'store-orders: cannot read absent.ndjson; check that the file exists\n']);
});

/** The least and the greatest id, each field with and without a value, and orders between them. */
const EXPORTED = [
  '{"id":-9223372036854775808,"petId":9223372036854775807,"quantity":0,"shipDate":"2026-01-28T10:00:00.5+02:00","complete":true,"status":"in_transit"}',
  '{"id":0,"complete":false,"status":"shipped"}',
  ...Array.from({ length: 2_000 }, (_, i) => `{"id":${9007199254740993n + BigInt(i)},"status":"pending"}`),
  '{"id":9223372036854775807,"quantity":-3,"status":"cancelled"}',
  '',
].join('\n');

test('an export contains the imported orders byte for byte, sorted by id, even if they were imported as an array', async () => {
  const cwd = temporaryDirectory();
  const input = EXPORTED.split('\n').reverse().join('\n');
  await run(['orders', 'import', '-', '--statuses', 'in_transit'], { cwd, input });
  const exported = await run(['orders', 'export'], { cwd });
  assert.equal(exported.code, 0);
  assert.ok(exported.stdout === EXPORTED, 'the same bytes');
  const array = await run(['orders', 'export', '--json'], { cwd });
  assert.equal(JSON.parse(array.stdout).length, 2_003);
  await run(['orders', 'import', '-', '--statuses', 'in_transit', '--db', 'copy.db'], { cwd, input: array.stdout });
  assert.ok((await run(['orders', 'export', '--db', 'copy.db'], { cwd })).stdout === EXPORTED, 'from the array');
});

test('the export of an empty store is empty, and with --json it is an empty array', async () => {
  const cwd = temporaryDirectory();
  await run(['orders', 'import', '-'], { cwd, input: '[]' });
  assert.deepEqual(await run(['orders', 'export'], { cwd }), { code: 0, stdout: '', stderr: '' });
  assert.deepEqual(await answerOf(['orders', 'export'], { cwd }), []);
});

test('an export to a full disk is reported as a failure of stdout, not of the database', {
  skip: !existsSync('/dev/full'),
}, async () => {
  const cwd = temporaryDirectory();
  await run(['orders', 'import', '-'], { cwd, input: '{"id":1}' });
  const under = ['sh', '-c', 'exec "$@" > /dev/full', 'sh'];
  for (const format of ['json', 'csv']) {
    const { code, stderr } = await run(['orders', 'export', '--format', format], { cwd, under });
    assert.deepEqual(
      [code, stderr],
      [1, 'store-orders: cannot write to stdout: ENOSPC: no space left on device, write\n'],
    );
  }
});

test('an export whose reader closes the pipe ends without an error', async () => {
  const cwd = temporaryDirectory();
  const input = Array.from({ length: 20_000 }, (_, id) => `{"id":${id}}`).join('\n');
  await run(['orders', 'import', '-'], { cwd, input });
  const child = spawnProgram(['orders', 'export'], { cwd });
  child.stdout?.once('data', () => child.stdout?.destroy());
  let stderr = '';
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  assert.deepEqual(await once(child, 'close'), [0, null]);
  assert.equal(stderr, '');
});
