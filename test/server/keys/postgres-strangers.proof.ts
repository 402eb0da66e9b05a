import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { createMemoryLimiter, createMemoryOrderStore, createOrderService } from 'store-orders';
import { createApiKey, createPostgresKeyRing, openPostgresStorage } from 'store-orders/server';
import { createManualClock } from 'store-orders/testing';
import { createDatabase, watchedPool } from '../../databases/postgres/support/database.js';
import { missingEngine, startEngine } from '../../databases/postgres/support/engine.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { startServer, until } from '../support/program.js';

/** The number of requests per minute that an address may send without a valid key. */
const ADDRESS_QUOTA = 600;
/** The maximum number of unknown keys that the key ring looks up at the same time. */
const AT_ONCE = 1_000;

describe('requests with made-up keys to a service that uses PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  async function open(t: TestContext) {
    const url = await createDatabase(engine);
    const opened = await openPostgresStorage(url, { create: true });
    assert.ok(opened.ok);
    t.after(opened.data.close);
    const [keys, revision, strangers] = [watchedPool(t, url), watchedPool(t, url), watchedPool(t, url)];
    const clock = createManualClock();
    return {
      url,
      data: opened.data,
      ring: createPostgresKeyRing({ keys, revision, strangers }, clock),
      strangers,
      clock,
    };
  }

  test('look-ups of made-up keys do not delay the check for changed keys, so known keys are still accepted', async (t) => {
    const { url, data } = await open(t);
    const { key } = await data.keys.create({ name: 'business' });
    await data.keys.authenticate(key);
    const other = new pg.Client(url);
    await other.connect();
    await other.query('BEGIN');
    await other.query('LOCK store_orders_keys');
    const unknown = Promise.allSettled(Array.from({ length: 20 }, () => data.keys.authenticate(createApiKey())));
    try {
      const waiting = "SELECT FROM pg_locks WHERE relation = 'store_orders_keys'::regclass AND NOT granted";
      await until(async () => (await other.query(waiting)).rows.length === 2);
      const startMs = performance.now();
      // After each check for changes, the key ring trusts the known key for 750 ms. The loop runs
      // for longer, so the known key is accepted to the end only if further checks succeed.
      while (performance.now() - startMs < 2_000) {
        const askedMs = performance.now();
        assert.ok(await data.keys.authenticate(key));
        assert.ok(performance.now() - askedMs < 500, 'look-ups of made-up keys delayed the known key');
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    } finally {
      await other.end();
    }
    assert.ok((await unknown).every((outcome) => outcome.status === 'rejected' || outcome.value === undefined));
  });

  test('at most 1,000 unknown keys are looked up at the same time; the look-up of one more unknown key rejects', async (t) => {
    const { ring, strangers } = await open(t);
    const { key } = await ring.create({ name: 'pro' });
    await ring.authenticate(key);
    let release = () => {};
    strangers.late = new Promise((resolve) => {
      release = resolve;
    });
    strangers.asked = 0;
    const unknown = Array.from({ length: AT_ONCE }, () => ring.authenticate(createApiKey()));
    await assert.rejects(async () => ring.authenticate(createApiKey()), /too many unknown API keys/);
    assert.equal(strangers.asked, AT_ONCE);
    await ring.setPlan((await ring.authenticate(key))?.id ?? '', { name: 'free' });
    assert.equal((await ring.authenticate(key))?.plan.name, 'free', 'unknown keys do not block a known key');
    strangers.late = undefined;
    release();
    assert.ok((await Promise.all(unknown)).every((principal) => principal === undefined));
    assert.equal(await ring.authenticate(createApiKey()), undefined, 'an unknown key can be looked up again');
  });

  test('once an address is over its limit, its made-up keys are not looked up', async (t) => {
    const { ring, strangers, clock } = await open(t);
    const service = createOrderService({
      store: createMemoryOrderStore(),
      limiter: createMemoryLimiter({ clock }),
      authenticate: ring.authenticate,
      isKnownKey: ring.isKnownKey,
    });
    const { key, id } = await ring.create({ name: 'business' });
    const get = async (apiKey: string) => {
      const rawHeaders = ['Host', 'orders.test', 'Authorization', `Bearer ${apiKey}`];
      return (await service.respond({ method: 'GET', url: '/v1/store/orders', rawHeaders }, '192.0.2.1')).status;
    };
    assert.equal(await get(key), 200);
    strangers.asked = 0;
    for (let i = 0; i < 50; i++) {
      await Promise.all(Array.from({ length: 100 }, () => get(createApiKey())));
      await setImmediate();
    }
    assert.ok(strangers.asked < ADDRESS_QUOTA + 100, `${strangers.asked} were looked up`);
    assert.equal(await get(key), 200, 'a valid key that the service has seen is still accepted');
    await ring.setPlan(id, { name: 'pro' });
    assert.equal(await get(key), 200, 'the valid key is accepted even if it must be looked up again');
    await ring.revoke(id);
    assert.equal(await get(key), 429, 'a request with a revoked key is charged to the address of the client');
    strangers.asked = 0;
    assert.equal(await get(key), 429);
    assert.equal(strangers.asked, 0, 'the revoked key is no longer looked up');
  });

  test('if a client address is over its limit, a valid key is refused only if the server has not seen it before', async (t) => {
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
    assert.deepEqual(statuses, [200, 401, 401, 429, 429, 200]);
  });
});
