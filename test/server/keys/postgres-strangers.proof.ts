import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createMemoryLimiter, createMemoryOrderStore, createOrderService } from 'store-orders';
import { createManualClock } from 'store-orders/testing';
import { createApiKey } from '../../../dist/server/keys/api-key.js';
import { createPostgresKeyRing } from '../../../dist/server/keys/postgres.js';
import { openPostgresStorage } from '../../../dist/server/storage/postgres.js';
import { createDatabase, watchedPool } from '../../databases/postgres/support/database.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { startServer } from '../support/program.js';

/** The number of requests per minute that an address may send without a valid key. */
const ADDRESS_QUOTA = 600;

describe('requests with made-up keys to a service that uses PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  async function open(t: TestContext) {
    const url = await createDatabase(engine);
    const opened = await openPostgresStorage(url, { create: true });
    assert.ok(opened.ok);
    t.after(opened.data.close);
    const [client, clock] = [watchedPool(t, url), createManualClock()];
    return { url, data: opened.data, ring: createPostgresKeyRing(client, clock), client, clock };
  }

  test('once an address is over its limit, its made-up keys are looked up one at a time', async (t) => {
    const { ring, client, clock } = await open(t);
    const service = createOrderService({
      store: createMemoryOrderStore(),
      limiter: createMemoryLimiter({ clock }),
      authenticate: ring.authenticate,
      isKnownKey: ring.isKnownKey,
    });
    const other = createPostgresKeyRing(client);
    const { key, id } = await ring.create({ name: 'business' });
    const get = async (apiKey: string) => {
      const rawHeaders = ['Host', 'orders.test', 'Authorization', `Bearer ${apiKey}`];
      return (await service.respond({ method: 'GET', url: '/v1/store/orders', rawHeaders }, '192.0.2.1')).status;
    };
    assert.equal(await get(key), 200);
    client.asked = 0;
    for (let i = 0; i < 50; i++) {
      await Promise.all(Array.from({ length: 100 }, () => get(createApiKey())));
      await setImmediate();
    }
    assert.ok(client.asked < ADDRESS_QUOTA + 100, `${client.asked} were looked up`);
    assert.equal(await get(key), 200, 'a valid key that the service has seen is still accepted');
    clock.advance(1_000);
    assert.equal(await get(key), 200, 'the valid key is accepted even if it must be looked up again');
    await other.revoke(id);
    clock.advance(1_000);
    assert.equal(await get(key), 429, 'a request with a revoked key is charged to the address of the client');
  });

  test('if a client address is over its limit, a valid key is accepted, even one that the server has not seen before', async (t) => {
    const { url, data } = await open(t);
    const cwd = temporaryDirectory();
    const server = await startServer(
      t,
      { cwd, env: { DATABASE_URL: url } },
      '--redis-url',
      'redis://127.0.0.1:1',
      '--address-per-minute',
      '2',
    );
    const [seen, unseen] = [await data.keys.create({ name: 'pro' }), await data.keys.create({ name: 'pro' })];
    const statuses: number[] = [];
    for (const key of [seen.key, createApiKey(), createApiKey(), createApiKey(), unseen.key, seen.key]) {
      statuses.push((await server.get(key)).status);
    }
    assert.deepEqual(statuses, [200, 401, 401, 429, 200, 200]);
  });
});
