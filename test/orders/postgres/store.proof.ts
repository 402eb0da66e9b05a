import { test } from 'node:test';
import type { PostgresPool } from 'store-orders/postgres';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { type Engine, missingEngine, startEngine } from '../../support/postgres-server.js';
import { testOrderStore } from '../support/store-suite.js';

const NAME = 'the order store in PostgreSQL';

if (missingEngine) test(NAME, { skip: missingEngine });
else {
  const engine = await startEngine();
  testOrderStore(NAME, () => ({ store: createPostgresOrderStore(migrated(engine)) }));
}

/** Returns a pool that creates the store's table before its first query. */
function migrated(engine: Engine): PostgresPool {
  const pool = engine.pool();
  const ready = createPostgresOrderStore(pool).migrate();
  return {
    async query(statement) {
      await ready;
      return pool.query(statement);
    },
    async connect() {
      await ready;
      return pool.connect();
    },
  };
}
