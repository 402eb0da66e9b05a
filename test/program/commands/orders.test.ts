import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { change } from '../support/change.js';
import { commandsIn, type Program, programWithOrders } from '../support/program.js';

const ORDERS = [
  '{"id":9007199254740993,"petId":5,"quantity":12,"shipDate":"2026-01-05T09:30:00Z","complete":false}',
  '{"id":1,"status":"shipped","complete":true}',
  '{"id":2,"status":"cancelled"}',
  '{"id":9}',
  '{"id":-3,"status":"returned"}',
].join('\n');

async function withOrders(): Promise<Program> {
  const program = commandsIn();
  await program.output('orders import - --statuses returned', ORDERS);
  return program;
}

const TABLE = `              ID  PET ID  QUANTITY  SHIP DATE             COMPLETE  STATUS
              -3                                                    returned
               1                                          true      shipped
               2                                                    cancelled
               9                                                    pending
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
  const { output } = await programWithOrders(5_000, commandsIn());
  const lines = (await output('orders list')).trimEnd().split('\n');
  assert.equal(lines.length, 5_001);
  assert.equal(lines.filter((line) => line.includes('STATUS')).length, 1);
  assert.equal(lines.at(-1), '5000       7         1                       pending');
});

test('"orders cancel" and "orders ship" change only a pending order, whose id may be beyond 2^53', async () => {
  for (const [command, status] of [
    ['cancel', 'cancelled'],
    ['ship', 'shipped'],
  ] as const) {
    const { output, json, failure, misuse } = await withOrders();
    for (const [id, says] of [
      ['9007199254740992', 'does not exist'],
      ['1', `has already shipped; only a pending order can be ${status}`],
      ['2', `is already cancelled; only a pending order can be ${status}`],
      ['-3', `is not pending; only a pending order can be ${status}`],
    ] as const) {
      assert.equal(await failure(`orders ${command} -- ${id}`), `the order ${id} ${says}`);
    }
    assert.deepEqual(await json(`orders ${command} 9`), { id: 9, status });
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

/** An escape sequence that changes the terminal's title, and one that begins with a C1 control. */
const CONTROLS = '\x1b]0;mine\x07\x9b31m';
const ESCAPED = String.raw`\u001b]0;mine\u0007\u009b31m`;

test('control characters from the database or the command line do not reach the terminal', async () => {
  const { run, output, json, cwd } = commandsIn();
  await output('orders import -', '{"id":7}');
  const { id } = Object(await json(['keys', 'create', '--plan', 'free', '--name', CONTROLS]));
  await output(`ban set ${id} --for 1h`);
  change(
    join(cwd, 'store-orders.db'),
    `DROP TABLE orders; CREATE TABLE orders (id INTEGER PRIMARY KEY, pet_id, quantity, ship_date, complete, status);
    INSERT INTO orders (id, status) VALUES (7, '${CONTROLS}')`,
  );
  for (const command of [
    'orders list',
    'orders show 7',
    'orders show 7 --json',
    'keys list',
    'quota list',
    'db check',
  ]) {
    const text = await output(command);
    assert.ok(text.includes(ESCAPED), `${command}: ${JSON.stringify(text)}`);
    assert.doesNotMatch(text, /[^\P{Cc}\n]/u, command);
  }
  const { stderr } = await run(['orders', 'import', `${CONTROLS}\n.json`]);
  assert.equal(stderr, `store-orders: cannot read ${ESCAPED}\n.json; check that it is a readable file\n`);
});
