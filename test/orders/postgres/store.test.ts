import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { OrderInput } from 'store-orders';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { FIELDS } from '../../../dist/orders/fields.js';
import { quoteText } from '../../../dist/orders/postgres/table.js';
import { idsTo } from '../support/ids.js';
import { listed, testOrderStore } from '../support/store-suite.js';
import { DATE_TIMES, isValid, QUANTITIES, STATUSES } from '../support/written-values.js';
import { useWebAssembly } from './support/webassembly.js';

const UNCHANGED =
  /^Error: order 13: its status did not change; does a trigger or a policy of its table prevent that\?$/;

/** Statements of any writer, after whether they change the list of the orders 1 and 2. */
const STATEMENTS: readonly (readonly [isAnother: boolean, ...statements: string[]])[] = [
  [
    true,
    ...Object.values(FIELDS).map(({ column }) => `UPDATE store_orders SET ${column} = ${column}, status = status`),
    "INSERT INTO store_orders (id, status) VALUES (3, 'pending')",
    "INSERT INTO store_orders (id, status) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET quantity = 7",
    // The file is in the memory of the module.
    "COPY (SELECT 3, 'x') TO '/orders'; COPY store_orders (id, status) FROM '/orders'",
    'DELETE FROM store_orders WHERE id = 2',
    'TRUNCATE store_orders',
    "SET LOCAL session_replication_role = replica; INSERT INTO store_orders (id, status) VALUES (3, 'pending')",
    "SET LOCAL search_path = pg_temp; INSERT INTO public.store_orders (id, status) VALUES (3, 'pending')",
  ],
  [
    false,
    "UPDATE store_orders SET status = 'shipped'",
    'DELETE FROM store_orders WHERE id = 9',
    'SELECT FROM store_orders FOR UPDATE',
  ],
];

/** Statements after which nothing tells that the list changes. */
const LOSSES = [
  // As in a dump of the tables alone, whose trigger fails to be created.
  'DROP FUNCTION store_orders_changed CASCADE',
  'DROP TRIGGER store_orders_changed ON store_orders',
  // As after `pg_restore --disable-triggers`.
  'ALTER TABLE store_orders DISABLE TRIGGER ALL; ALTER TABLE store_orders ENABLE TRIGGER ALL',
  'ALTER TABLE store_orders DISABLE TRIGGER store_orders_changed',
  'ALTER TABLE store_orders RENAME TO old_orders; CREATE TABLE store_orders AS TABLE old_orders',
];
const HIDDEN_INSERT = "INSERT INTO store_orders (id, status) VALUES (3, 'x')";

describe('the order store in PostgreSQL', () => {
  const { pool, sent, run } = useWebAssembly();

  /** Creates a store over new tables. */
  async function stored(...orders: readonly OrderInput[]) {
    await run('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    const store = createPostgresOrderStore(pool);
    await store.migrate();
    await store.put(orders);
    return store;
  }

  testOrderStore('passes the suite', () => stored());

  test('migrate locks out other sessions only if there is something to migrate', async () => {
    const store = await stored();
    for (const [change, count] of [
      ['', 0],
      ['DROP SCHEMA public CASCADE; CREATE SCHEMA public', 1],
    ] as const) {
      await run(`BEGIN; ${change}`);
      await store.migrate();
      const locks = await run("SELECT FROM pg_locks WHERE locktype = 'advisory'");
      await run('ROLLBACK');
      assert.equal(locks.length, count);
    }
  });

  test('simultaneous cancels are sent as one statement, as are shipments, and each gets its own outcome', async () => {
    const last = 2n ** 63n - 1n;
    const others = ['shipped', 'cancelled', 'on_hold'].map((status, index) => ({ id: 20 + index, status }));
    const store = await stored({ id: 1 }, { id: last }, ...others);
    sent.length = 0;
    assert.deepEqual(await Promise.all([last, 20n, 99n, last, 21n, 22n].map(store.cancel)), [
      ...['cancelled', 'already_shipped', 'not_found'],
      ...['already_cancelled', 'already_cancelled', 'not_pending'],
    ]);
    assert.equal(sent.length, 1);
    const shipped = await Promise.all([1n, last, 1n].map(store.ship));
    assert.deepEqual(shipped, ['shipped', 'already_cancelled', 'already_shipped']);
    assert.equal(sent.length, 2);
  });

  for (const [what, body, message] of [
    ['raises an error for a row', "RAISE 'not this one'", /not this one/],
    ['leaves a row unchanged', 'RETURN NULL', UNCHANGED],
  ] as const) {
    test(`if a trigger on the table ${what}, only the cancel of that row fails`, async () => {
      const store = await stored(...idsTo(64).map((id) => ({ id })));
      await run(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN IF NEW.id = 13 THEN ${body}; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON store_orders FOR EACH ROW EXECUTE FUNCTION refuse()`);
      const outcomes = await Promise.allSettled([...idsTo(64), 1n].map(store.cancel));
      const [failed] = outcomes.splice(13, 1);
      assert.ok(failed?.status === 'rejected' && message.test(String(failed.reason)), JSON.stringify(failed));
      assert.deepEqual(outcomes.pop(), { status: 'fulfilled', value: 'already_cancelled' });
      for (const outcome of outcomes) assert.deepEqual(outcome, { status: 'fulfilled', value: 'cancelled' });
      assert.equal((await store.get(13n))?.status, 'pending');
    });
  }

  for (const [count, id, statements] of [
    [128, '= 13', 15],
    [128, '% 17 = 0', 79],
    [128, '% 2 = 0', 255],
    [1_000, '% 1000 = 0', 22],
  ] as const) {
    test(`${count} cancels of which a trigger rejects those with id ${id} need ${statements} statements`, async (t) => {
      // On a busy machine, this takes longer than a cancel waits.
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const store = await stored(...idsTo(count).map((id) => ({ id })));
      await run(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN IF NEW.id ${id} THEN RAISE 'not this one'; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON store_orders FOR EACH ROW EXECUTE FUNCTION refuse()`);
      sent.length = 0;
      const outcomes = await Promise.allSettled(idsTo(count).map(store.cancel));
      assert.equal(sent.length, statements);
      const rows = await run(`SELECT count(*)::int AS count FROM store_orders WHERE id ${id} AND status = 'pending'`);
      assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, rows[0]?.['count']);
    });
  }

  for (const [isAnother, ...statements] of STATEMENTS) {
    for (const statement of statements) {
      test(`the list has ${isAnother ? 'another' : 'the same'} version after ${statement}`, async (t) => {
        let nowMs = 0;
        t.mock.method(performance, 'now', () => nowMs);
        const store = await stored({ id: 1 }, { id: 2 });
        const { version } = await store.list();
        await run(`BEGIN; ${statement}; COMMIT`);
        assert.equal((await store.list()).version, version, 'it is read every tenth of a second');
        nowMs = 100;
        assert.equal((await store.list()).version !== version, isAnother, 'see the trigger store_orders_changed');
      });
    }
  }

  for (const loss of LOSSES) {
    test(`lists every change, warns once, and is restored by migrate after ${loss}`, async (t) => {
      let nowMs = 0;
      t.mock.method(performance, 'now', () => nowMs);
      const warn = t.mock.method(process, 'emitWarning', () => {});
      const store = await stored({ id: 1 });
      async function countAndVersion() {
        nowMs += 100;
        const { version } = await store.list();
        return [(await listed(store)).length, version] as const;
      }
      await countAndVersion();
      await run(
        `BEGIN; SET LOCAL session_replication_role = replica; ${loss}; INSERT INTO store_orders (id, status) VALUES (2, 'x'); COMMIT`,
      );
      assert.equal((await countAndVersion())[0], 2);
      await run(HIDDEN_INSERT);
      assert.equal((await countAndVersion())[0], 3);
      await store.migrate();
      await store.migrate();
      const restored = await countAndVersion();
      assert.deepEqual(await countAndVersion(), restored, 'the list is read once for each change');
      await run(`BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM store_orders; COMMIT`);
      assert.equal((await countAndVersion())[0], 0);
      const warnings = warn.mock.calls.map(({ arguments: [text] }) => String(text));
      assert.deepEqual(
        warnings.map((text) => /It has been restored|Nothing says when/.exec(text)?.[0]),
        ['Nothing says when', 'It has been restored'],
      );
    });
  }

  test('lists a change by a transaction that disabled and enabled the trigger', async (t) => {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const store = await stored({ id: 1 });
    const { version } = await store.list();
    const trigger = 'TRIGGER store_orders_changed';
    await run(`BEGIN; ALTER TABLE store_orders DISABLE ${trigger}; ${HIDDEN_INSERT};
      ALTER TABLE store_orders ENABLE ALWAYS ${trigger}; COMMIT`);
    nowMs = 100;
    assert.notEqual((await store.list()).version, version);
  });

  for (const [rule, column, values, accepts] of [
    ['order_quantity_is_a_safe_integer', 'quantity', QUANTITIES, (quantity: unknown) => isValid({ quantity })],
    ['order_ship_date_is_rfc_3339', 'ship_date', DATE_TIMES, (shipDate: unknown) => isValid({ shipDate })],
    ['order_status_is_a_word', 'status', STATUSES, (status: unknown) => isValid({ status })],
  ] as const) {
    test(`SQL can store each ${column} that an import accepts, and no other`, async () => {
      await stored({ id: 1 });
      // A text of PostgreSQL cannot have a NUL.
      const samples = fc.sample<bigint | string>(values, 1_500).filter((value) => !String(value).includes('\0'));
      const attempts = samples.map((value) => `ARRAY[${quoteText(String(value))}]`);
      await run(`CREATE OR REPLACE FUNCTION rule_against(value text) RETURNS text LANGUAGE plpgsql AS $$
        DECLARE rule text;
        BEGIN
          EXECUTE format('UPDATE store_orders SET ${column} = %L', value);
          RETURN NULL;
        EXCEPTION WHEN check_violation THEN
          GET STACKED DIAGNOSTICS rule = CONSTRAINT_NAME;
          RETURN rule;
        END $$`);
      const rows = await run(`SELECT rule_against(value) AS rule FROM unnest(ARRAY[${attempts}]) AS value`);
      assert.deepEqual(
        rows.map((row, index) => [samples[index], row['rule']]),
        samples.map((value) => [value, accepts(value) ? null : rule]),
      );
      assert.ok(rows.some((row) => row['rule'] === null) && rows.some((row) => row['rule'] === rule));
    });
  }
});
