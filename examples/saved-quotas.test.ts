/**
 * Keeps the quotas of the memory limiter in the host's own table, so that a restart does not refill
 * them. Quotas of addresses are not saved, because strangers could fill the table.
 *
 *     node --import tsx --test examples/saved-quotas.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, type MemoryLimiter, PLANS, type Plan } from 'store-orders/limiter';
import { openSqliteDatabase, type SqliteDatabase } from 'store-orders/sqlite';

/** Creates a limiter that begins with the saved quotas. `save` stores what has changed since. */
function createSavedLimiter(database: SqliteDatabase): MemoryLimiter & { save(): void } {
  const limiter = createMemoryLimiter();
  const changed = new Set<string>();
  for (const row of database.prepare('SELECT * FROM quotas').all()) {
    const { key, state } = Object(row);
    limiter.restore(key, JSON.parse(state));
  }
  const upsert = database.prepare('INSERT OR REPLACE INTO quotas VALUES (?, ?)');
  return {
    ...limiter,
    take(key: string, plan: Plan, cost?: number) {
      if (plan.partition === 'key') changed.add(key);
      return limiter.take(key, plan, cost);
    },
    save() {
      for (const key of changed) upsert.run(key, JSON.stringify(limiter.inspect(key) ?? { buckets: [] }));
      changed.clear();
    },
  };
}

test('a restart does not refill a quota', () => {
  const database = openSqliteDatabase(':memory:');
  database.exec('CREATE TABLE quotas (key TEXT PRIMARY KEY, state TEXT NOT NULL)');
  const before = createSavedLimiter(database);
  for (let n = 0; n < 60; n++) before.take('customer-1', PLANS.free);
  // A host saves every few seconds, and when it stops.
  before.save();

  const after = createSavedLimiter(database);
  assert.equal(after.take('customer-1', PLANS.free).result, 'over_quota');
  assert.equal(after.take('customer-2', PLANS.free).result, 'within_quota');
  database.close();
});
