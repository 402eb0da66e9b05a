import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  createPostgresOrderStore,
  type NamedStatement,
  type NamingPostgresPool,
  type PostgresRow,
  withNamedStatements,
} from 'store-orders/postgres';
import { missingEngine, startEngine } from '../../support/postgres-server.js';

describe('named statements in PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  /** Opens a store over one connection. */
  async function open() {
    const pool = engine.pool({ max: 1 });
    const store = createPostgresOrderStore(withNamedStatements(pool));
    await store.migrate();
    const prepared = async (): Promise<readonly string[]> => {
      const { rows } = await pool.query('SELECT statement FROM pg_prepared_statements ORDER BY prepare_time');
      return rows.map(({ statement }) => statement);
    };
    return { pool, store, prepared };
  }

  test('frequent statements are prepared once per connection', async () => {
    const { store, prepared } = await open();
    await store.put(Array.from({ length: 10 }, (_, id) => ({ id })));
    assert.deepEqual(await prepared(), []);
    for (let id = 0n; id < 10n; id++) {
      assert.equal(await store.cancel(id), 'cancelled');
      assert.equal(await store.cancel(id), 'already_cancelled');
      assert.equal((await store.get(id))?.status, 'cancelled');
    }
    assert.equal((await prepared()).length, 2);
  });

  test('the statement that reads a short list is prepared again as the list grows, and a long list is read without a prepared statement', async () => {
    const { store, prepared } = await open();
    const counts = [0, 1, 100, 1_000, 1_999];
    let count = 0;
    for (const more of counts) {
      await store.put(Array.from({ length: more - count }, () => ({ id: count++ })));
      for (let i = 0; i < 3; i++) assert.equal(Array.from(Object(await store.list())).length, count);
    }
    const before = await prepared();
    assert.ok(before.length <= counts.length + 1, `${before.length} statements`);
    await store.put([{ id: count }]);
    for (let i = 0; i < 3; i++) assert.ok(Symbol.asyncIterator in (await store.list()));
    assert.deepEqual(await prepared(), before);
  });

  test('a statement planned while the table is empty still finds orders by the index when the table has grown', async () => {
    const { pool, store } = await open();
    await pool.query('ALTER TABLE store_orders SET (autovacuum_enabled = false)');
    for (let id = 0n; id < 20n; id++) assert.equal(await store.cancel(id), 'not_found');
    await store.put(Array.from({ length: 20_000 }, (_, id) => ({ id })));
    for (let id = 0n; id < 20n; id++) assert.equal(await store.cancel(id), 'cancelled');
    const { rows } = await pool.query('SELECT name, generic_plans::int AS generic FROM pg_prepared_statements');
    assert.ok(rows.length === 1 && rows[0].generic >= 30, 'planned once');
    const plan = await pool.query(`EXPLAIN EXECUTE ${rows[0].name} ('1')`);
    const lines: readonly string[] = plan.rows.map((row) => row['QUERY PLAN']);
    assert.ok(!lines.some((line) => line.includes('Seq Scan')), lines.join('\n'));
  });

  test('if PostgreSQL has dropped the named statements, the store sends them without names from then on', async () => {
    const { pool, store, prepared } = await open();
    await store.put([{ id: 1 }, { id: 2 }, { id: 3, status: 'shipped' }]);
    assert.equal(await store.cancel(1n), 'cancelled');
    await pool.query('DEALLOCATE ALL');
    assert.equal(await store.cancel(2n), 'cancelled');
    assert.equal(await store.cancel(3n), 'already_shipped');
    assert.deepEqual(await store.list(), [{ id: 1n }, { id: 2n }, { id: 3n }]);
    assert.deepEqual(await prepared(), []);
  });
});

for (const code of ['26000', '42P05']) {
  test(`if a pooler does not support named statements (${code}), the first statement is sent again without a name, and later statements have no names`, async () => {
    const sent: (string | NamedStatement)[] = [];
    const pool: NamingPostgresPool = {
      async query(statement: string | NamedStatement): Promise<{ rows: PostgresRow[] }> {
        sent.push(statement);
        if (typeof statement === 'string') return { rows: [] };
        throw Object.assign(new Error('prepared statement "x"'), { code });
      },
    };
    const store = createPostgresOrderStore(withNamedStatements(pool));
    assert.equal(await store.cancel(1n), 'not_found');
    assert.equal(await store.cancel(2n), 'not_found');
    const [first, second, third] = sent;
    assert.ok(typeof first === 'object' && first.name.length < 64 && first.values[0] === '1');
    assert.deepEqual([second, third, sent.length], [first.text, first.text, 3]);
  });
}

test('a named statement is not sent again if it fails because PostgreSQL closes the connection', async () => {
  let asked = 0;
  const pool: NamingPostgresPool = {
    async query(): Promise<{ rows: PostgresRow[] }> {
      asked++;
      throw Object.assign(new Error('gone'), { code: '57P01' });
    },
  };
  await assert.rejects(createPostgresOrderStore(withNamedStatements(pool)).cancel(1n), /gone/);
  assert.equal(asked, 1);
});
