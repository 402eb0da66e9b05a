import type { TestContext } from 'node:test';
import type pg from 'pg';
import { createPostgresOrderStore } from 'store-orders/postgres';
import type { Engine } from '../../../support/postgres-server.js';

/** Creates a store whose clock moves only when `later` is called. */
export async function openStore(t: TestContext, engine: Engine, options?: pg.PoolConfig) {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const pool = engine.pool(options);
  const store = createPostgresOrderStore(pool);
  await store.migrate();
  await store.put([{ id: 1 }, { id: 2 }]);
  const { rows } = await pool.query('SELECT current_schema() AS schema');
  const later = () => {
    nowMs += 100;
  };
  const versionOf = async (of = store) => (await of.list()).version;
  return { pool, store, schema: String(rows[0].schema), later, versionOf };
}
