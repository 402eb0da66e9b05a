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

describe('simultaneous cancels in PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  async function open(count: number, options?: pg.PoolConfig) {
    const pool = engine.pool(options);
    const asked: string[][] = [];
    const client: PostgresClient = {
      query(statement) {
        asked.push(statement.values ?? []);
        return pool.query(statement);
      },
    };
    await createPostgresOrderStore(pool).migrate();
    const store = createPostgresOrderStore(client);
    await store.put(Array.from({ length: count }, (_, id) => ({ id })));
    asked.length = 0;
    const statusOf = async (id: number) => (await store.get(BigInt(id)))?.status;
    return { pool, store, asked, statusOf };
  }

  test('simultaneous cancels are sent as one statement, and each gets its own outcome', async () => {
    const { store, asked } = await open(10);
    await store.put([
      { id: 20, status: 'shipped' },
      { id: 21, status: 'cancelled' },
      { id: 22, status: 'on_hold' },
    ]);
    asked.length = 0;
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
    assert.equal(asked.length, 1);
    assert.deepEqual(await Promise.all([store.ship(1n), store.ship(3n), store.ship(1n)]), [
      'shipped',
      'already_cancelled',
      'already_shipped',
    ]);
  });

  test('cancels that arrive while an earlier statement waits for its reply are sent together', async () => {
    const { store, asked } = await open(200);
    const first = store.cancel(0n);
    await setImmediate();
    const others = Array.from({ length: 199 }, (_, index) => store.cancel(BigInt(199 - index)));
    assert.ok([await first, ...(await Promise.all(others))].every((outcome) => outcome === 'cancelled'));
    assert.ok(asked.length <= 3, `${asked.length} statements`);
  });

  test('if another transaction has locked an order, only the cancel of that order waits for the transaction', async () => {
    const { pool, store, statusOf } = await open(20);
    const other = await pool.connect();
    await other.query('BEGIN');
    await other.query("UPDATE store_orders SET status = 'shipped' WHERE id = 5");
    let answered = false;
    const locked = store.cancel(5n).finally(() => {
      answered = true;
    });
    const free = Array.from({ length: 20 }, (_, id) => id).filter((id) => id !== 5);
    const outcomes = await Promise.all(free.map((id) => store.cancel(BigInt(id))));
    assert.ok(outcomes.every((outcome) => outcome === 'cancelled'));
    assert.equal(answered, false);
    await other.query('COMMIT');
    other.release();
    assert.deepEqual([await locked, await statusOf(5)], ['already_shipped', 'shipped']);
  });

  test('cancels that wait for locked orders leave connections free for other calls, however many orders are locked', async () => {
    const { pool, store } = await open(100, { max: 6 });
    const other = await pool.connect();
    await other.query('BEGIN');
    await other.query("UPDATE store_orders SET status = 'shipped' WHERE id < 50");
    const locked = Array.from({ length: 50 }, (_, id) => store.cancel(BigInt(id)));
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    const watch = engine.pool();
    for (const id of [60n, 61n]) assert.equal(await store.cancel(id), 'cancelled');
    assert.equal((await watch.query(waiting)).rows.length, 0);
    assert.equal((await store.get(70n))?.status, 'pending');
    await other.query('COMMIT');
    other.release();
    assert.ok((await Promise.all(locked)).every((outcome) => outcome === 'already_shipped'));
  });

  for (const [what, body, message] of [
    ['raises an error for a row', "RAISE 'not this one'", /not this one/],
    ['leaves a row unchanged', 'RETURN NULL', /^Error: order 13: its status did not change/],
  ] as const) {
    test(`if a trigger on the table ${what}, only the cancel of that row fails`, async () => {
      const { pool } = await open(0);
      await pool.query(`CREATE TABLE parcels (no int PRIMARY KEY, state text NOT NULL);
        INSERT INTO parcels SELECT i, 'new' FROM generate_series(1, 64) AS i;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN IF NEW.no = 13 THEN ${body}; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON parcels FOR EACH ROW EXECUTE FUNCTION refuse()`);
      const columns = { id: 'no', status: 'state' };
      const statuses = { pending: 'new', cancelled: ['void', 'refunded'] };
      const store = createMappedOrderStore(pool, { table: 'parcels', columns, statuses });
      const ids = [...Array.from({ length: 64 }, (_, index) => BigInt(index + 1)), 1n];
      const outcomes = await Promise.allSettled(ids.map((id) => store.cancel(id)));
      for (const [index, outcome] of outcomes.entries()) {
        if (ids[index] === 13n) {
          assert.ok(outcome.status === 'rejected' && message.test(String(outcome.reason)), JSON.stringify(outcome));
        } else if (index < 64) assert.deepEqual(outcome, { status: 'fulfilled', value: 'cancelled' });
      }
      assert.deepEqual(outcomes.at(-1), { status: 'fulfilled', value: 'already_cancelled' });
      const { rows } = await pool.query('SELECT state, count(*)::int AS n FROM parcels GROUP BY state ORDER BY state');
      assert.deepEqual(rows, [
        { state: 'new', n: 1 },
        { state: 'void', n: 63 },
      ]);
    });
  }

  test('if a trigger that runs for one order waits for another transaction, only the cancel of that order waits', async () => {
    const { pool, store } = await open(30);
    await pool.query(`CREATE TABLE stock (pet int PRIMARY KEY, left_over int); INSERT INTO stock VALUES (7, 0), (8, 0);
      CREATE FUNCTION put_back() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN UPDATE stock SET left_over = left_over + 1 WHERE pet = CASE NEW.id WHEN 13 THEN 7 ELSE 8 END; RETURN NEW; END $$;
      CREATE TRIGGER put_back BEFORE UPDATE ON store_orders FOR EACH ROW EXECUTE FUNCTION put_back()`);
    const other = await pool.connect();
    await other.query('BEGIN');
    await other.query('UPDATE stock SET left_over = 0 WHERE pet = 7');
    const slow = store.cancel(13n);
    const others = Array.from({ length: 30 }, (_, id) => id).filter((id) => id !== 13);
    const outcomes = await Promise.all(others.map((id) => store.cancel(BigInt(id))));
    assert.ok(outcomes.every((outcome) => outcome === 'cancelled'));
    await other.query('COMMIT');
    other.release();
    assert.equal(await slow, 'cancelled');
    const { rows } = await pool.query('SELECT left_over FROM stock ORDER BY pet');
    assert.deepEqual(rows, [{ left_over: 1 }, { left_over: 29 }]);
  });

  test('when several stores cancel the same orders in different sequences, each order is cancelled once', async () => {
    const { pool } = await open(1_000);
    const stores = Array.from({ length: 4 }, () => createPostgresOrderStore(pool));
    const outcomes = await Promise.all(
      stores.flatMap((store, seat) =>
        Array.from({ length: 1_000 }, (_, index) => store.cancel(BigInt(seat % 2 === 0 ? index : 999 - index))),
      ),
    );
    const count = (outcome: string) => outcomes.filter((other) => other === outcome).length;
    assert.deepEqual([count('cancelled'), count('already_cancelled')], [1_000, 3_000]);
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

test('a statement without a reply delays later cancels only briefly', async () => {
  const { store, asked } = heldPool();
  const outcomes = Promise.allSettled([store.cancel(1n), store.cancel(2n)]);
  await until(() => asked.length === 1);
  const further = Promise.allSettled([store.cancel(3n), store.cancel(4n)]);
  await until(() => asked.length === 2, 1_000);
  for (const { reject } of asked) reject(new Error('lost'));
  await Promise.all([outcomes, further]);
});

test('lists requested in one pass of the event loop share a query, and lists requested during that query share the next one', async () => {
  const { store, asked } = heldPool();
  const first = [store.list(), store.list()];
  await until(() => asked.length === 1);
  const second = [store.list(), store.list()];
  asked[0]?.resolve({ rows: [{ count: '1', text: '{"id":1}' }] });
  for (const listed of first) assert.deepEqual(await listed, [{ id: 1n }]);
  await until(() => asked.length === 2);
  asked[1]?.resolve({ rows: [{ count: '0', text: null }] });
  for (const listed of second) assert.deepEqual(await listed, []);
  await setImmediate();
  assert.equal(asked.length, 2);
});

test('a list that gets no reply delays the next list only briefly, and after both lists have failed, a third list succeeds', async () => {
  const { store, asked } = heldPool();
  const outcomes = [store.list()];
  await until(() => asked.length === 1);
  outcomes.push(store.list());
  await until(() => asked.length === 2, 1_000);
  for (const { reject } of asked) reject(new Error('lost'));
  for (const outcome of outcomes) await assert.rejects(outcome, /lost/);
  const next = store.list();
  await until(() => asked.length === 3);
  asked[2]?.resolve({ rows: [{ count: '0', text: null }] });
  assert.deepEqual(await next, []);
});
