import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, createMemoryOrderStore, createOrderService } from 'store-orders';
import { createManualClock } from 'store-orders/testing';
import { createApiKey } from '../../../dist/program/keys/api-key.js';
import type { KeyRecord } from '../../../dist/program/keys/key-record.js';
import { createKeyRing } from '../../../dist/program/keys/key-ring.js';

const ANN: KeyRecord = { id: 'key_ann', plan: { name: 'free' }, createdAt: '' };

const LATE = new Error('late');

/** Opens a key ring on a table that can only be searched. The error LATE means that no key can change. */
function open(byDigest: () => Promise<KeyRecord | undefined>) {
  const clock = createManualClock();
  const isUnchangeable = (error: unknown) => error === LATE;
  return { clock, ring: createKeyRing({ byDigest } as never, {} as never, { clock, isUnchangeable }) };
}

test('however many requests a key sends, it is looked up once in 900 ms; it stays valid while no process can change it', async () => {
  let answer: () => KeyRecord | undefined = () => ANN;
  let asked = 0;
  const { ring, clock } = open(async () => {
    asked++;
    return answer();
  });
  const key = createApiKey();
  const ask = () => Promise.all([1, 2, 3].map(() => ring.authenticateKnown(key) ?? ring.authenticate(key)));
  const [ann] = await ask();
  clock.advance(900);
  await ask();
  assert.deepEqual([ann?.id, asked], ['key_ann', 1]);
  clock.advance(1);
  answer = () => assert.fail(LATE);
  assert.deepEqual(await ask(), [ann, ann, ann]);
  answer = () => assert.fail('down');
  await assert.rejects(ask(), { message: 'down' });
  await assert.rejects(async () => ring.authenticateKnown(key), { message: 'down' });
  assert.equal(asked, 4, 'the key is still known');
  answer = () => undefined;
  assert.deepEqual(await ask(), [undefined, undefined, undefined]);
  assert.deepEqual([ring.authenticateKnown(key), asked], [undefined, 5]);
  answer = () => assert.fail(LATE);
  assert.deepEqual(await ask(), [undefined, undefined, undefined]);
  assert.equal(asked, 6, 'an unknown key may be issued at any moment');
});

test('an agreed plan is one object while its quotas are the same, however often its key is looked up', async () => {
  let perMinute = 5;
  const { ring, clock } = open(async () => ({ ...ANN, plan: { name: 'enterprise', perMinute } }));
  const key = createApiKey();
  const planLater = async () => {
    clock.advance(901);
    return (await ring.authenticate(key))?.plan;
  };
  const plan = await planLater();
  assert.ok(plan !== undefined && plan === (await planLater()));
  perMinute = 6;
  assert.deepEqual(
    (await planLater())?.policies.map(({ quota }) => quota),
    [6],
  );
});

test('a key is refused from the millisecond of its expiry on, even while the disk hangs', async () => {
  const expiresAt = new Date(Date.UTC(2026, 0) + 901).toISOString();
  let answer = (): KeyRecord => ({ ...ANN, expiresAt });
  const { ring, clock } = open(async () => answer());
  const [used, unused] = [createApiKey(), createApiKey()];
  clock.advance(900);
  assert.equal((await ring.authenticate(used))?.id, 'key_ann');
  clock.advance(1);
  assert.equal(await ring.authenticate(unused), undefined);
  clock.advance(900);
  answer = () => assert.fail(LATE);
  assert.equal(await ring.authenticate(used), undefined);
});

test('the cache has the 10,000 valid keys that were used last, however many guessed keys are looked up', async () => {
  let answer: KeyRecord | undefined = ANN;
  const { ring } = open(async () => answer);
  const keys = Array.from({ length: 20_002 }, createApiKey);
  for (const key of keys.slice(0, 10_001)) await ring.authenticate(key);
  answer = undefined;
  for (const key of keys.slice(10_001)) await ring.authenticate(key);
  const isKnown = (key: string) => ring.authenticateKnown(key) !== undefined;
  assert.deepEqual(keys.slice(0, 2).map(isKnown), [false, true]);
});

/** Opens a key ring whose look-ups last until the test ends them. Each finds the key as it was when the look-up began. */
function openSlow() {
  let record: KeyRecord | undefined = ANN;
  const ends: (() => void)[] = [];
  const opened = open(() => {
    const found = record;
    return new Promise((resolve) => ends.push(() => resolve(found)));
  });
  const revoke = () => {
    record = undefined;
  };
  return { ...opened, ends, revoke };
}

test('a request joins no look-up that began 900 ms earlier, because the key may have been revoked since', async () => {
  const { ring, clock, ends, revoke } = openSlow();
  const key = createApiKey();
  const before = ring.authenticate(key);
  revoke();
  clock.advance(900);
  const after = ring.authenticate(key);
  for (const end of ends.toReversed()) end();
  assert.equal((await before)?.id, 'key_ann');
  assert.equal(await after, undefined);
  clock.advance(1);
  const next = ring.authenticate(key);
  for (const end of ends) end();
  assert.equal(await next, undefined);
});

test('a look-up that is too slow to be shared does not end the sharing of the next one', async () => {
  const { ring, clock, ends } = openSlow();
  const key = createApiKey();
  const first = ring.authenticate(key);
  clock.advance(1_000);
  const second = ring.authenticate(key);
  ends[0]?.();
  await first;
  const third = ring.authenticate(key);
  assert.equal(ends.length, 2);
  ends[1]?.();
  for (const shared of [second, third]) assert.equal((await shared)?.id, 'key_ann');
});

test('of 5,000 guessed keys from one address, at most a hundred beyond its quota are looked up', async () => {
  let asked = 0;
  const { ring, clock } = open(async () => void asked++);
  const { authenticate, authenticateKnown } = ring;
  const limiter = createMemoryLimiter({ clock });
  const store = createMemoryOrderStore();
  const { respond } = createOrderService({ store, limiter, authenticate, authenticateKnown });
  for (let i = 0; i < 50; i++) {
    const requests = Array.from({ length: 100 }, async () => {
      const rawHeaders = ['Host', 'orders.test', 'Authorization', `Bearer ${createApiKey()}`];
      return respond({ method: 'GET', url: '/v1/store/orders', rawHeaders }, '192.0.2.1');
    });
    await Promise.all(requests);
  }
  assert.ok(asked >= 600 && asked < 600 + 100, `${asked} were looked up`);
});
