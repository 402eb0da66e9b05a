import assert from 'node:assert/strict';
import { test } from 'node:test';
import { issueKey, type Program, programIn, startServer } from '../support/program.js';

const ORDERS = [
  '{"id":9007199254740993,"petId":5,"quantity":12,"shipDate":"2026-01-05T09:30:00Z","complete":false}',
  '{"id":1,"status":"shipped","complete":true}',
  '{"id":2,"status":"cancelled"}',
  '{"id":-3,"status":"returned"}',
].join('\n');

async function withOrders(): Promise<Program> {
  const program = programIn();
  await program.output('orders import - --statuses returned', ORDERS);
  return program;
}

const TABLE = `              ID  PET ID  QUANTITY  SHIP DATE             COMPLETE  STATUS
              -3                                                    returned
               1                                          true      shipped
               2                                                    cancelled
9007199254740993       5        12  2026-01-05T09:30:00Z  false     pending
`;

test('"orders list" prints a table of the orders with exact ids; --status selects the orders with one status', async () => {
  const { output, json } = await withOrders();
  assert.equal(await output('orders list'), TABLE);
  const pending = TABLE.split('\n').filter((line) => /ID|pending|^$/.test(line));
  assert.equal(await output('orders list --status pending'), pending.join('\n'));
  assert.equal(await output('orders list --status pendng'), 'no orders with the status "pendng"\n');
  assert.deepEqual(await json('orders list --status pendng'), []);
  assert.equal(await output('orders list --status shipped --json'), '[{"id":1,"complete":true,"status":"shipped"}]\n');
});

test('"orders list" prints the column headings of a long list only once', async () => {
  const { output } = programIn();
  await output('orders import -', Array.from({ length: 5_000 }, (_, id) => `{"id":${id}}\n`).join(''));
  const lines = (await output('orders list')).trimEnd().split('\n');
  assert.equal(lines.length, 5_001);
  assert.equal(lines.filter((line) => line.includes('STATUS')).length, 1);
  assert.match(lines.at(-1) ?? '', /^ *4999 +pending$/);
});

test('"orders cancel" and "orders ship" change only a pending order, whose id may be beyond 2^53', async () => {
  for (const [command, status] of [
    ['cancel', 'cancelled'],
    ['ship', 'shipped'],
  ] as const) {
    const { output, failure, misuse } = await withOrders();
    for (const [id, says] of [
      ['9007199254740992', 'does not exist'],
      ['1', `has already shipped; only a pending order can be ${status}`],
      ['2', `is already cancelled; only a pending order can be ${status}`],
      ['-3', `is not pending; only a pending order can be ${status}`],
    ] as const) {
      assert.equal(await failure(`orders ${command} -- ${id}`), `the order ${id} ${says}`);
    }
    assert.equal(await output(`orders ${command} 9007199254740993`), `the order 9007199254740993 is ${status}\n`);
    assert.equal(
      await output('orders show 9007199254740993'),
      `id        9007199254740993\npetId     5\nquantity  12\nshipDate  2026-01-05T09:30:00Z\ncomplete  false\nstatus    ${status}\n`,
    );
    assert.equal(
      await output('orders show 9007199254740993 --json'),
      `${ORDERS.split('\n')[0]?.slice(0, -1)},"status":"${status}"}\n`,
    );
    assert.match(await misuse(`orders ${command} -- --json`), /^ORDER_ID: /, 'after "--", "--json" is an id');
  }
});

test('a running server notices that the command "orders cancel" has cancelled an order', async (t) => {
  const { output, json, cwd } = programIn();
  await output('orders import -', '{"id":7}');
  const server = await startServer(t, { cwd });
  const { key } = await issueKey(cwd, 'free');
  assert.deepEqual(await json('orders cancel 7'), { id: 7, status: 'cancelled' });
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${server.url}/store/orders/7`, { method: 'DELETE', headers });
  assert.match(await response.text(), /"order_already_cancelled"/);
});
