import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { listenOnFreePort } from '../../support/listen.js';
import { sampled } from '../../support/sampled.js';
import { until } from '../../support/until.js';
import { issueKey, programIn, spawnProgram, startServer } from '../support/program.js';

const GOOD = '{"id":1}\n';

const REFUSALS: readonly (readonly [content: string | Uint8Array, says: string])[] = [
  [`${GOOD}{"id":2,"quantity":"3"}\n`, '2: quantity must be an integer'],
  [`${GOOD}\n{"petId":2}\n`, '3: id is missing'],
  [
    `${GOOD}{"id":2,"status":"pendng"}`,
    '2: status must be one of pending, shipped, cancelled, not "pendng"; to accept other statuses, use --statuses',
  ],
  [`${GOOD}\u00a0\n`, '2: invalid JSON, column 1: expected a value'],
  [`${GOOD}\u2028\n`, '2: invalid JSON, column 1: expected a value'],
  [`${GOOD}{"id":2}\r\n{"id":1}`, '3: the id 1 is already on line 1'],
  [`${GOOD}{"id":2,\n`, '2: invalid JSON, column 9: expected a string'],
  [`${GOOD}{"id":2} {"id":3}\n`, '2: invalid JSON, column 10: unexpected text after the JSON value'],
  [`${GOOD}${'['.repeat(100_000)}\n`, '2: invalid JSON, column 101: nested too deeply'],
  [`${GOOD}{"id":2,"id":3}\n`, '2: invalid JSON, column 9: the name "id" appears twice'],
  [Buffer.from(`${GOOD}{"id":2,"status":"\xff"}\n`, 'latin1'), '2: the text is not UTF-8'],
  ['', '1: the file is empty; write [] for an empty list'],
  [' \n\t\n', '1: the file is empty; write [] for an empty list'],
  ['[{"id":1},\n {"id":2,\n  "petId":"x"}]', '2: petId must be an integer'],
  ['[{"id":1},\n {"id":1}]', '2: the id 1 is already on line 1'],
  ['[{"id":1},\n {"id":2}', '2: invalid JSON, column 10: expected ]'],
  ['[{"id":1}]\n{"id":2}', '2: invalid JSON, column 1: unexpected text after the JSON value'],
  [Buffer.from('[{"id":1},\n{"id":2,"status":"\xe9"}]', 'latin1'), '2: the text is not UTF-8'],
];

test('an invalid record is reported with its file, line and field; the import stores nothing and exits 1', async () => {
  const { failure, cwd } = programIn();
  for (const [content, says] of sampled(REFUSALS)) {
    writeFileSync(join(cwd, 'orders.ndjson'), content);
    const message = await failure('orders import orders.ndjson');
    assert.ok(message.startsWith(`orders.ndjson:${says}`) && message.endsWith('; nothing was imported'), message);
  }
  assert.deepEqual(readdirSync(cwd), ['orders.ndjson'], 'the failed import creates no database');
});

for (const [what, use] of [
  ['a command has stored a key in it', (_: TestContext, cwd: string) => issueKey(cwd, 'free')],
  ['a server has been started on it', (t: TestContext, cwd: string) => startServer(t, { cwd }, '--no-sample')],
] as const) {
  test(`an import that fails keeps the database that it has created, if ${what} meanwhile`, async (t) => {
    const { cwd } = programIn();
    const child = spawnProgram(['orders', 'import', '-'], { cwd });
    const closed = once(child, 'close');
    child.stdin?.write(GOOD);
    await until(() => existsSync(join(cwd, 'store-orders.db-wal')));
    await use(t, cwd);
    child.stdin?.end('{"id":x}\n');
    assert.deepEqual(await closed, [1, null]);
    assert.ok(existsSync(join(cwd, 'store-orders.db')));
  });
}

test('an import that is interrupted while it connects to PostgreSQL ends with one sentence', async (t) => {
  const { cwd } = programIn();
  writeFileSync(join(cwd, 'orders.ndjson'), GOOD);
  const silent = createServer();
  t.after(() => silent.close());
  const url = `postgres://127.0.0.1:${await listenOnFreePort(silent)}/shop`;
  const child = spawnProgram(['orders', 'import', 'orders.ndjson', '--database-url', url], { cwd });
  assert.ok(child.stderr !== null);
  const stderr = text(child.stderr);
  const [connection] = await once(silent, 'connection');
  child.kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 200));
  connection.destroy();
  assert.match(await stderr, /^store-orders: cannot open the database [^\n]+\n$/);
});

test('an import refuses an id that is already stored, and names the line of the id, unless --replace is given', async () => {
  const { output, failure } = programIn();
  await output('orders import -', '{"id":5}');
  const input = '{"id":4}\n{"id":5,"status":"shipped"}';
  assert.equal(
    await failure('orders import -', input),
    'stdin:2: the id 5 is already stored; use --replace to overwrite it; nothing was imported',
  );
  assert.equal(await output('orders export'), '{"id":5,"status":"pending"}\n');
  assert.equal(await output('orders import - --replace', input), '2 orders imported: 1 pending, 1 shipped\n');
  assert.equal(await output('orders show 5 --json'), '{"id":5,"status":"shipped"}\n');
});

test('an import accepts an array, a byte order mark, CR LF and a last line without a line break, and prints counts by status', async () => {
  const { output, json } = programIn();
  for (const [input, says] of [
    ['[]', '0 orders imported'],
    ['\n [ {"id":1,"status":"cancelled"} ]\n', '1 order imported: 1 cancelled'],
    ['{"id":1e1}\n\t \r\n', '1 order imported: 1 pending'],
    ['\ufeff{"id":2}\r\n\r\n{"id":3,"status":"shipped"}', '2 orders imported: 1 pending, 1 shipped'],
    ['\ufeff[{"id":4}]', '1 order imported: 1 pending'],
  ] as const) {
    assert.equal(await output('orders import -', input), `${says}\n`);
  }
  assert.deepEqual(await json('orders import - --replace', '[{"id":1}]'), { imported: 1, byStatus: { pending: 1 } });
});

test('an import with a mistake after many valid orders stores none of them', async () => {
  const { output, failure } = programIn();
  const good = Array.from({ length: 2_500 }, (_, id) => `{"id":${id + 10}}\n`).join('');
  await output('orders import -', '{"id":1,"status":"shipped"}');
  for (const [last, says] of [
    ['{"id":1}', 'the id 1 is already stored'],
    ['{"id":11}', 'the id 11 is already on line 2'],
    ['{"id":2.0000000000000001}', 'id must be an integer'],
  ] as const) {
    const message = await failure('orders import -', `${good}${last}`);
    assert.ok(message.startsWith(`stdin:2501: ${says}`), message);
    assert.equal(await output('orders export'), '{"id":1,"status":"shipped"}\n');
  }
});

test('an import accepts the additional statuses that --statuses names; an invalid list of statuses is refused', async () => {
  const { output, misuse } = programIn();
  const input = '{"id":1,"status":"returned"}\n{"id":2,"status":"on_hold"}\n{"id":3}';
  assert.equal(
    await output('orders import - --statuses on_hold,returned', input),
    '3 orders imported: 1 on_hold, 1 pending, 1 returned\n',
  );
  for (const statuses of ['', 'on hold', 'returned,', 'Returned']) {
    assert.equal(
      await misuse(['orders', 'import', '-', '--statuses', statuses], input),
      `--statuses: expected lower-case words separated by commas, such as returned,on_hold, not ${JSON.stringify(statuses)}`,
    );
  }
});

test('an import of a file that cannot be read prints the name of the file', async () => {
  const { failure } = programIn();
  for (const name of ['absent.ndjson', '.']) {
    assert.equal(await failure(`orders import ${name}`), `cannot read ${name}; check that the file exists`);
  }
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
  const { output, json } = programIn();
  await output('orders import - --statuses in_transit', EXPORTED.split('\n').reverse().join('\n'));
  assert.ok((await output('orders export')) === EXPORTED, 'the same bytes');
  const array = await output('orders export --json');
  assert.equal(JSON.parse(array).length, 2_003);
  await output('orders import - --statuses in_transit --db copy.db', array);
  assert.ok((await output('orders export --db copy.db')) === EXPORTED, 'from the array');
  await output('orders import - --db empty.db', '[]');
  assert.equal(await output('orders export --db empty.db'), '');
  assert.deepEqual(await json('orders export --db empty.db'), []);
});

test('an output that does not fit on a full disk is reported as a failure of stdout, not of the database', {
  skip: !existsSync('/dev/full'),
}, async () => {
  const { output, cwd } = programIn();
  await output('orders import -', '{"id":1}');
  const { failure } = programIn({ cwd, under: ['sh', '-c', 'exec "$@" > /dev/full', 'sh'] });
  for (const command of ['orders export', 'orders export --format csv', 'orders list', 'keys list', '--help']) {
    assert.equal(await failure(command), 'cannot write to stdout: ENOSPC: no space left on device, write');
  }
});

test('an export whose reader closes the pipe ends without an error', async () => {
  const { output, cwd } = programIn();
  await output('orders import -', Array.from({ length: 20_000 }, (_, id) => `{"id":${id}}`).join('\n'));
  const child = spawnProgram(['orders', 'export'], { cwd });
  child.stdout?.once('data', () => child.stdout?.destroy());
  let stderr = '';
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  assert.deepEqual(await once(child, 'close'), [0, null]);
  assert.equal(stderr, '');
});
