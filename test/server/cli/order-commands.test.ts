import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { answerOf, issueKey, run, startServer } from '../support/program.js';

const ORDERS = [
  '{"id":9007199254740993,"petId":5,"quantity":12,"shipDate":"2026-01-05T09:30:00Z","complete":false}',
  '{"id":1,"status":"shipped","complete":true}',
  '{"id":2,"status":"cancelled"}',
  '{"id":-3,"status":"returned"}',
].join('\n');

async function imported(): Promise<string> {
  const cwd = temporaryDirectory();
  await answerOf(['orders', 'import', '-', '--statuses', 'returned'], { cwd, input: ORDERS });
  return cwd;
}

const TABLE = `              ID  PET ID  QUANTITY  SHIP DATE             COMPLETE  STATUS
              -3                                                    returned
               1                                          true      shipped
               2                                                    cancelled
9007199254740993       5        12  2026-01-05T09:30:00Z  false     pending
`;

test('"orders list" prints a table of the orders with exact ids; --status selects the orders with one status', async () => {
  const cwd = await imported();
  assert.deepEqual(await run(['orders', 'list'], { cwd }), { code: 0, stdout: TABLE, stderr: '' });
  const pending = await run(['orders', 'list', '--status', 'pending'], { cwd });
  assert.deepEqual(pending.stdout.split('\n').length, 3);
  assert.match(pending.stdout, /^ +ID .*\n9007199254740993 .* pending\n$/);
  const none = await run(['orders', 'list', '--status', 'pendng'], { cwd });
  assert.deepEqual(none, { code: 0, stdout: 'no orders with the status "pendng"\n', stderr: '' });
  assert.deepEqual(await answerOf(['orders', 'list', '--status', 'pendng'], { cwd }), []);
  const json = await run(['orders', 'list', '--status', 'shipped', '--json'], { cwd });
  assert.equal(json.stdout, '[{"id":1,"complete":true,"status":"shipped"}]\n');
});

test('"orders list" prints the column headings of a long list only once', async () => {
  const cwd = temporaryDirectory();
  const input = Array.from({ length: 5_000 }, (_, id) => `{"id":${id}}\n`).join('');
  await answerOf(['orders', 'import', '-'], { cwd, input });
  const { stdout } = await run(['orders', 'list'], { cwd });
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 5_001);
  assert.equal(lines.filter((line) => line.includes('STATUS')).length, 1);
  assert.equal(
    lines.at(-1)?.trim(),
    `4999${' '.repeat((lines[0] ?? '').indexOf('STATUS') - (lines[0] ?? '').indexOf('ID') - 2)}pending`,
  );
});

test('"orders cancel" and "orders ship" change only a pending order, whose id may be beyond 2^53', async () => {
  const only = (status: string) => `only a pending order can be ${status}`;
  for (const [command, status] of [
    ['cancel', 'cancelled'],
    ['ship', 'shipped'],
  ] as const) {
    const cwd = await imported();
    const rows: readonly (readonly [id: string, code: number, says: string])[] = [
      ['9007199254740992', 1, 'store-orders: the order 9007199254740992 does not exist\n'],
      ['9007199254740993', 0, `the order 9007199254740993 is ${status}\n`],
      ['1', 1, `store-orders: the order 1 has already shipped; ${only(status)}\n`],
      ['2', 1, `store-orders: the order 2 is already cancelled; ${only(status)}\n`],
      ['-3', 1, `store-orders: the order -3 is not pending; ${only(status)}\n`],
    ];
    for (const [id, code, says] of rows) {
      const changed = await run(['orders', command, '--', id], { cwd });
      assert.deepEqual([changed.code, changed.stdout + changed.stderr], [code, says]);
    }
    const shown = await run(['orders', 'show', '9007199254740993'], { cwd });
    assert.equal(
      shown.stdout,
      `id        9007199254740993\npetId     5\nquantity  12\nshipDate  2026-01-05T09:30:00Z\ncomplete  false\nstatus    ${status}\n`,
    );
    const json = await run(['orders', 'show', '9007199254740993', '--json'], { cwd });
    assert.equal(json.stdout, `${ORDERS.split('\n')[0]?.slice(0, -1)},"status":"${status}"}\n`);
    const operand = await run(['orders', command, '--', '--json'], { cwd });
    assert.deepEqual([operand.code, operand.stdout], [2, ''], 'after "--", "--json" is an id and not an option');
  }
});

test('a running server notices that the command "orders cancel" has cancelled an order', async (t) => {
  const cwd = temporaryDirectory();
  await answerOf(['orders', 'import', '-'], { cwd, input: '{"id":7}' });
  const server = await startServer(t, { cwd });
  const { key } = await issueKey(cwd, 'free');
  assert.deepEqual(await answerOf(['orders', 'cancel', '7'], { cwd }), { id: 7, status: 'cancelled' });
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${server.url}/store/orders/7`, { method: 'DELETE', headers });
  assert.match(await response.text(), /"order_already_cancelled"/);
});
