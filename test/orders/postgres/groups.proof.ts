import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type pg from 'pg';
import {
  createMappedOrderStore,
  createPostgresOrderStore,
  type PostgresClient,
  type PostgresRow,
} from 'store-orders/postgres';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { until } from '../../support/until.js';
import { beginTransaction, isWaiting } from './support/transaction.js';

const idsTo = (end: number) => Array.from({ length: end }, (_, id) => BigInt(id));

describe('simultaneous cancels in PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  async function open(count: number, options?: pg.PoolConfig) {
    const pool = engine.pool(options);
    let asked = 0;
    const client: PostgresClient = {
      query(statement) {
        asked++;
        return pool.query(statement);
      },
    };
    const store = createPostgresOrderStore(client);
    await store.migrate();
    await store.put(idsTo(count).map((id) => ({ id })));
    /** Returns how many statements were sent since the last call. */
    const statements = () => {
      const count = asked;
      asked = 0;
      return count;
    };
    return { pool, store, statements };
  }

  test('simultaneous cancels are sent as one statement, and each gets its own outcome', async () => {
    const { store, statements } = await open(10);
    await store.put([
      { id: 20, status: 'shipped' },
      { id: 21, status: 'cancelled' },
      { id: 22, status: 'on_hold' },
    ]);
    statements();
    const ids = [7n, 20n, 3n, 99n, 7n, 21n, 2n ** 63n - 1n, -(2n ** 63n), 22n, 3n, 7n];
    assert.deepEqual(await Promise.all(ids.map((id) => store.cancel(id))), [
      'cancelled',
      'already_shipped',
      'cancelled',
      'not_found',
      'already_cancelled',
      'already_cancelled',
      'not_found',
      'not_found',
      'not_pending',
      'already_cancelled',
      'already_cancelled',
    ]);
    assert.equal(statements(), 1);
    assert.deepEqual(await Promise.all([store.ship(1n), store.ship(3n), store.ship(1n)]), [
      'shipped',
      'already_cancelled',
      'already_shipped',
    ]);
  });

  test('cancels that arrive while an earlier statement waits for its reply are sent together', async () => {
    const { store, statements } = await open(200);
    statements();
    const first = store.cancel(0n);
    await setImmediate();
    const outcomes = await Promise.all([
      first,
      ...idsTo(200)
        .slice(1)
        .reverse()
        .map((id) => store.cancel(id)),
    ]);
    assert.deepEqual(new Set(outcomes), new Set(['cancelled']));
    const sent = statements();
    assert.ok(sent <= 3, `${sent} statements`);
  });

  test('cancels of locked orders wait without a connection, however many are locked, and no other call waits', async () => {
    const { pool, store } = await open(100, { max: 6 });
    const end = await beginTransaction(pool, "UPDATE store_orders SET status = 'shipped' WHERE id < 50");
    let isAnswered = false;
    const locked = Promise.all(idsTo(50).map((id) => store.cancel(id))).finally(() => {
      isAnswered = true;
    });
    const free = await Promise.all(
      idsTo(70)
        .slice(50)
        .map((id) => store.cancel(id)),
    );
    assert.deepEqual(new Set(free), new Set(['cancelled']));
    assert.equal((await store.get(70n))?.status, 'pending');
    assert.ok(!(await isWaiting(engine.pool())));
    assert.ok(!isAnswered);
    await end();
    assert.deepEqual(new Set(await locked), new Set(['already_shipped']));
  });

  for (const [what, body, message] of [
    ['raises an error for a row', "RAISE 'not this one'", /not this one/],
    ['leaves a row unchanged', 'RETURN NULL', /^Error: order 13: its status did not change/],
  ] as const) {
    test(`if a trigger on the table ${what}, only the cancel of that row fails`, async () => {
      const { pool } = await open(0);
      await pool.query(`CREATE TABLE parcels (no int PRIMARY KEY, state text NOT NULL);
        INSERT INTO parcels SELECT i, 'new' FROM generate_series(0, 63) AS i;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN IF NEW.no = 13 THEN ${body}; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON parcels FOR EACH ROW EXECUTE FUNCTION refuse()`);
      const columns = { id: 'no', status: 'state' };
      const store = createMappedOrderStore(pool, { table: 'parcels', columns, statuses: { pending: 'new' } });
      const outcomes = await Promise.allSettled([...idsTo(64), 1n].map((id) => store.cancel(id)));
      const [failed, ...others] = outcomes.splice(13, 1);
      assert.deepEqual(others, []);
      assert.ok(failed?.status === 'rejected' && message.test(String(failed.reason)), JSON.stringify(failed));
      assert.deepEqual(outcomes.pop(), { status: 'fulfilled', value: 'already_cancelled' });
      for (const outcome of outcomes) assert.deepEqual(outcome, { status: 'fulfilled', value: 'cancelled' });
      const { rows } = await pool.query("SELECT no FROM parcels WHERE state <> 'cancelled'");
      assert.deepEqual(rows, [{ no: 13 }]);
    });
  }

  test('if a trigger that runs for one order waits for another transaction, only the cancel of that order waits', async () => {
    const { pool, store } = await open(30);
    await pool.query(`CREATE TABLE stock (pet int PRIMARY KEY, left_over int); INSERT INTO stock VALUES (7, 0), (8, 0);
      CREATE FUNCTION put_back() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN UPDATE stock SET left_over = left_over + 1 WHERE pet = CASE NEW.id WHEN 13 THEN 7 ELSE 8 END; RETURN NEW; END $$;
      CREATE TRIGGER put_back BEFORE UPDATE ON store_orders FOR EACH ROW EXECUTE FUNCTION put_back()`);
    const end = await beginTransaction(pool, 'UPDATE stock SET left_over = 0 WHERE pet = 7');
    const slow = store.cancel(13n);
    const others = await Promise.all(idsTo(30).map((id) => (id === 13n ? 'cancelled' : store.cancel(id))));
    assert.deepEqual(new Set(others), new Set(['cancelled']));
    await end();
    assert.equal(await slow, 'cancelled');
    const { rows } = await pool.query('SELECT left_over FROM stock ORDER BY pet');
    assert.deepEqual(rows, [{ left_over: 1 }, { left_over: 29 }]);
  });
});

/** Creates a pool whose queries the test resolves or rejects itself, and a store over this pool. */
function heldPool() {
  const asked: { resolve(answer: { rows: PostgresRow[] }): void; reject(error: Error): void }[] = [];
  const client: PostgresClient = {
    query: () => new Promise((resolve, reject) => void asked.push({ resolve, reject })),
  };
  return { store: createPostgresOrderStore(client), asked };
}

for (const code of ['ECONNRESET', 'EPIPE', undefined, '57P01', '57014', '08006', '53300', 'XX000']) {
  test(`if the reply to several cancels is lost (${code}), all these cancels reject, and none is sent again`, async () => {
    const { store, asked } = heldPool();
    const outcomes = Promise.allSettled([store.cancel(1n), store.cancel(2n)]);
    await until(() => asked.length > 0);
    asked[0]?.reject(Object.assign(new Error('lost'), { code }));
    assert.ok((await outcomes).every(({ status }) => status === 'rejected'));
    await setImmediate();
    assert.equal(asked.length, 1);
  });
}

test('refused cancels that are sent again alone, in turn, leave no timer that keeps the process running', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  const query = () => Promise.reject(Object.assign(new Error('refused'), { code: '23514' }));
  const store = createPostgresOrderStore({ query });
  const outcomes = await Promise.allSettled(idsTo(20).map((id) => store.cancel(id)));
  assert.ok(outcomes.every(({ status }) => status === 'rejected'));
  await setImmediate();
  assert.equal(timers(), before);
});

test('lists requested in one pass of the event loop share a query, and lists requested during that query share the next one', async () => {
  const { store, asked } = heldPool();
  const first = [store.list(), store.list()];
  await until(() => asked.length === 1);
  const second = [store.list(), store.list()];
  asked[0]?.resolve({ rows: [{ count: '1', text: '{"id":1}' }] });
  for (const listed of first) assert.deepEqual(Array.from(Object(await listed)), [{ id: 1n }]);
  await until(() => asked.length === 2);
  asked[1]?.resolve({ rows: [{ count: '0', text: null }] });
  for (const listed of second) assert.deepEqual(Array.from(Object(await listed)), []);
  await setImmediate();
  assert.equal(asked.length, 2);
});

for (const method of ['cancel', 'list'] as const) {
  test(`a ${method} without a reply delays the next one only briefly, and fails alone`, async () => {
    const { store, asked } = heldPool();
    const lost = store[method](1n);
    await until(() => asked.length === 1);
    const next = store[method](2n);
    await until(() => asked.length === 2, 1_000);
    asked[0]?.reject(new Error('lost'));
    await assert.rejects(lost, /lost/);
    asked[1]?.resolve({ rows: [] });
    await next;
  });
}
