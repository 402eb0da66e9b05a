import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import pg from 'pg';
import type { KeyRing } from '../../../dist/program/keys/key-ring.js';
import { openPostgresStorage } from '../../../dist/program/storage/postgres.js';
import { createPostgresKeyRing } from '../../../dist/program/storage/postgres-keys.js';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { type Engine, missingEngine, startEngine } from '../../support/postgres-server.js';
import { testKeyRing } from '../support/key-ring-suite.js';

describe('API keys in PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine('wal_writer_delay=10000');

  /** Opens the key ring of another process. */
  function open(t: TestContext, connectionString: string, options = ''): KeyRing {
    const pool = new pg.Pool({ connectionString, options });
    pool.on('error', () => {});
    t.after(() => pool.end());
    return createPostgresKeyRing(pool);
  }

  testKeyRing('the key ring in PostgreSQL', async (t) => {
    const url = await preparedDatabase(engine);
    return () => open(t, url);
  });

  test('two processes can change keys concurrently without losing a change, and a key is revoked only once', async (t) => {
    const url = await preparedDatabase(engine);
    const [ring, other] = [open(t, url), open(t, url)];
    const keys = await Promise.all(Array.from({ length: 20 }, () => ring.create({ name: 'free' })));
    for (const plan of ['pro', 'business'] as const) {
      const changes = keys.map(({ id }, index) => (index % 2 === 0 ? ring : other).setPlan(id, { name: plan }));
      assert.ok((await Promise.all(changes)).every((change) => change === 'changed'));
    }
    const [one] = keys;
    const revocations = await Promise.all([ring, other, ring, other].map((any) => any.revoke(one?.id ?? '')));
    assert.deepEqual(revocations.sort(), ['already_revoked', 'already_revoked', 'already_revoked', 'changed']);
    assert.ok((await ring.list()).every(({ plan }) => plan.name === 'business'));
  });

  test('acknowledged changes are on disk even if the role sets synchronous_commit=off', async (t) => {
    const ring = open(t, await preparedDatabase(engine), '-c synchronous_commit=off');
    let id = '';
    const writes: readonly (readonly [write: () => unknown, isKept: (ring: KeyRing) => Promise<boolean>])[] = [
      [async () => ({ id } = await ring.create({ name: 'free' })), async () => (await ring.get(id)) !== undefined],
      [() => ring.setPlan(id, { name: 'pro' }), async () => (await ring.get(id))?.plan.name === 'pro'],
      [() => ring.revoke(id), async () => (await ring.get(id))?.revokedAt !== undefined],
    ];
    for (const [write, isKept] of writes) {
      await write();
      await engine.crash();
      await engine.start();
      assert.ok(await isKept(ring), `${write}`);
    }
  });
});

/** Creates a database with the program's tables, and returns its URL. */
async function preparedDatabase(engine: Engine): Promise<string> {
  const url = await createDatabase(engine);
  const open = await openPostgresStorage(url, { create: true });
  assert.ok(open.ok);
  await open.storage.close();
  return url;
}
