import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Clock } from 'store-orders/limiter';
import type { PostgresClient } from 'store-orders/postgres';
import { createApiKey, createPostgresKeyRing, type KeyRing, openPostgresStorage } from 'store-orders/server';
import { createManualClock } from 'store-orders/testing';
import { createDatabase, watchedPool } from '../../databases/postgres/support/database.js';
import { type Engine, missingEngine, startEngine } from '../../databases/postgres/support/engine.js';
import { testKeyRing } from '../support/key-ring-suite.js';

describe('API keys in PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine('wal_writer_delay=10000');

  testKeyRing('the key ring in PostgreSQL', async (t) => {
    const url = await preparedDatabase(engine);
    return () => openRing(watchedPool(t, url));
  });

  /**
   * Opens two key rings on a new database. One has a manual clock and a client that counts queries.
   * The other stands for another process.
   */
  async function open(t: TestContext) {
    const url = await preparedDatabase(engine);
    const [client, clock] = [watchedPool(t, url), createManualClock()];
    const other = openRing(watchedPool(t, url));
    return { ring: openRing(client, clock), other, client, clock };
  }

  test('a cached key is authenticated without a wait; one query every 250 ms checks whether any keys have changed', async (t) => {
    const { ring, client, clock } = await open(t);
    const { key } = await ring.create({ name: 'pro' });
    const principal = await ring.authenticate(key);
    client.asked = 0;
    for (let ms = 1; ms <= 10_000; ms++) {
      clock.advance(1);
      assert.equal(ring.authenticate(key), principal);
      assert.equal(ring.authenticate(key), principal);
      if (ms % 50 === 0) await client.idle();
    }
    assert.equal(client.asked, 40);
    clock.advance(3_600_000);
    assert.equal(client.asked, 40, 'without requests, no query checks for changed keys');
  });

  test('only one check for changed keys runs at a time, even if the check is slow', async (t) => {
    const { ring, client, clock } = await open(t);
    const { key } = await ring.create({ name: 'pro' });
    await ring.authenticate(key);
    const { held, release } = gate();
    client.late = held;
    client.asked = 0;
    clock.advance(300);
    assert.ok(ring.authenticate(key));
    clock.advance(300);
    assert.ok(ring.authenticate(key));
    clock.advance(300);
    const waiting = ring.authenticate(key);
    assert.equal(client.asked, 1);
    client.late = undefined;
    release();
    assert.ok(await waiting);
  });

  for (const pauseMs of [750, 86_400_000]) {
    test(`after ${pauseMs} ms without a check for changed keys, all requests wait for one shared check`, async (t) => {
      const { ring, other, client, clock } = await open(t);
      const { key, id } = await ring.create({ name: 'pro' });
      const kept = await ring.create({ name: 'free' });
      await ring.authenticate(key);
      await ring.authenticate(kept.key);
      await other.revoke(id);
      clock.advance(pauseMs);
      client.asked = 0;
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => ring.authenticate(index % 2 === 0 ? key : kept.key)),
      );
      assert.ok(answers.every((answer, index) => answer?.id === (index % 2 === 0 ? undefined : kept.id)));
      assert.equal(client.asked, 3, 'one query finds the change, and one query looks up each of the two keys');
    });
  }

  test('concurrent requests with the same unknown key share one query', async (t) => {
    const { ring, client } = await open(t);
    const { key, id } = await ring.create({ name: 'pro' });
    client.asked = 0;
    const stranger = createApiKey();
    const known = await Promise.all(Array.from({ length: 50 }, () => ring.authenticate(key)));
    const unknown = await Promise.all(Array.from({ length: 50 }, () => ring.authenticate(stranger)));
    assert.ok(known.every((principal) => principal?.id === id));
    assert.ok(unknown.every((principal) => principal === undefined));
    assert.equal(client.asked, 2);
    assert.equal(await ring.authenticate(stranger), undefined);
    assert.equal(client.asked, 3, 'an unknown key is not cached, because it may be issued at any moment');
  });

  test('look-ups of made-up keys do not remove valid keys from the cache', async (t) => {
    const { ring, client } = await open(t);
    const { key } = await ring.create({ name: 'pro' });
    const principal = await ring.authenticate(key);
    for (let i = 0; i < 11; i++) {
      await Promise.all(Array.from({ length: 1_000 }, () => ring.authenticate(createApiKey())));
    }
    client.asked = 0;
    assert.equal(ring.authenticate(key), principal);
    assert.equal(client.asked, 0);
  });

  test('if a key changes while a query looks it up, the outdated result of the query is not cached', async (t) => {
    const { ring, other, client, clock } = await open(t);
    const [one, two] = [await ring.create({ name: 'pro' }), await ring.create({ name: 'pro' })];
    await ring.authenticate(two.key);
    const { held, release } = gate();
    client.late = held;
    const asked = client.asked;
    const late = ring.authenticate(one.key);
    client.late = undefined;
    assert.equal(client.asked, asked + 1);
    await client.idle();
    await other.setPlan(one.id, { name: 'free' });
    clock.advance(800);
    await ring.authenticate(two.key);
    release();
    assert.equal((await late)?.plan.name, 'pro', 'the result is the plan that the key had when the query was sent');
    assert.equal((await ring.authenticate(one.key))?.plan.name, 'free', 'the late result was not cached');
  });

  test('a request that begins after its own process has changed the key gets the new state of the key', async (t) => {
    const { ring, client, clock } = await open(t);
    const { key, id } = await ring.create({ name: 'pro' });
    const { held, release } = gate();
    client.late = held;
    const early = ring.authenticate(key);
    client.late = undefined;
    await client.idle();
    clock.advance(1);
    await ring.setPlan(id, { name: 'free' });
    const later = ring.authenticate(key);
    release();
    assert.equal((await early)?.plan.name, 'pro');
    assert.equal((await ring.authenticate(key))?.plan.name, 'free');
    assert.equal((await later)?.plan.name, 'free');
  });

  test('if the running check for changed keys began too long ago, a request waits for another check', async (t) => {
    const { ring, other, client, clock } = await open(t);
    const { key, id } = await ring.create({ name: 'pro' });
    await ring.authenticate(key);
    const { held, release } = gate();
    clock.advance(1_000);
    client.late = held;
    const early = ring.authenticate(key);
    client.late = undefined;
    await client.idle();
    await other.revoke(id);
    clock.advance(1_000);
    const later = ring.authenticate(key);
    release();
    await early;
    assert.equal(await later, undefined);
  });

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
    const ring = openRing(watchedPool(t, url, '-c synchronous_commit=off'));
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

  test('while the database is down, look-ups of keys reject, and the database is queried only every 250 ms', async (t) => {
    const { ring, client, clock } = await open(t);
    const { key, id } = await ring.create({ name: 'pro' });
    await ring.authenticate(key);
    await engine.crash();
    clock.advance(500);
    assert.ok(await ring.authenticate(key), 'a key checked 500 ms ago is still accepted');
    await client.idle();
    clock.advance(250);
    client.asked = 0;
    for (let i = 0; i < 100; i++) await assert.rejects(async () => ring.authenticate(key));
    assert.equal(client.asked, 1);
    await assert.rejects(async () => ring.authenticate(createApiKey()));
    assert.equal(ring.authenticate('so_mistyped'), undefined);
    await engine.start();
    clock.advance(250);
    assert.equal((await ring.authenticate(key))?.id, id);
  });
});

function openRing(client: PostgresClient, clock?: Clock): KeyRing {
  return createPostgresKeyRing({ keys: client, revision: client, strangers: client }, clock);
}

/** Creates a database with the program's tables, and returns its URL. */
async function preparedDatabase(engine: Engine): Promise<string> {
  const url = await createDatabase(engine);
  const open = await openPostgresStorage(url, { create: true });
  assert.ok(open.ok);
  await open.data.close();
  return url;
}

function gate() {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { held, release };
}
