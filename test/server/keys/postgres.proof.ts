import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createMemoryLimiter, createMemoryOrderStore, createOrderService } from 'store-orders';
import { createManualClock } from 'store-orders/testing';
import { createApiKey } from '../../../dist/server/keys/api-key.js';
import type { KeyRing } from '../../../dist/server/keys/key-ring.js';
import { createPostgresKeyRing } from '../../../dist/server/keys/postgres.js';
import { openPostgresStorage } from '../../../dist/server/storage/postgres.js';
import { createDatabase, watchedPool } from '../../databases/postgres/support/database.js';
import { type Engine, missingEngine, startEngine } from '../../support/postgres-server.js';
import { testKeyRing } from '../support/key-ring-suite.js';

describe('API keys in PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine('wal_writer_delay=10000');

  testKeyRing('the key ring in PostgreSQL', async (t) => {
    const url = await preparedDatabase(engine);
    return () => createPostgresKeyRing(watchedPool(t, url));
  });

  /**
   * Opens two key rings on a new database. One has a manual clock and a client that counts queries.
   * The other stands for another process.
   */
  async function open(t: TestContext) {
    const url = await preparedDatabase(engine);
    const [client, clock] = [watchedPool(t, url), createManualClock()];
    const other = createPostgresKeyRing(watchedPool(t, url));
    return { ring: createPostgresKeyRing(client, { clock }), other, client, clock };
  }

  test('two processes can change keys concurrently without losing a change, and a key is revoked only once', async (t) => {
    const { ring, other } = await open(t);
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
    const url = await preparedDatabase(engine);
    const ring = createPostgresKeyRing(watchedPool(t, url, '-c synchronous_commit=off'));
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

  test('of 5,000 made-up keys from one address, at most a hundred beyond its quota are looked up', async (t) => {
    const { ring, client, clock } = await open(t);
    const service = createOrderService({
      store: createMemoryOrderStore(),
      limiter: createMemoryLimiter({ clock }),
      authenticate: ring.authenticate,
      authenticateKnown: ring.authenticateKnown,
    });
    const get = async (apiKey: string) => {
      const rawHeaders = ['Host', 'orders.test', 'Authorization', `Bearer ${apiKey}`];
      return (await service.respond({ method: 'GET', url: '/v1/store/orders', rawHeaders }, '192.0.2.1')).status;
    };
    for (let i = 0; i < 50; i++) {
      await Promise.all(Array.from({ length: 100 }, () => get(createApiKey())));
      await setImmediate();
    }
    assert.ok(client.asked < 600 + 100, `${client.asked} were looked up`);
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
