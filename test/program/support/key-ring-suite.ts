import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { createApiKey } from '../../../dist/program/keys/api-key.js';
import type { KeyRing } from '../../../dist/program/keys/key-ring.js';
import { until } from '../../support/until.js';

type OpenRing = () => KeyRing | Promise<KeyRing>;

/**
 * Tests one kind of key ring. `prepare` creates an empty database for keys, and returns a function
 * that opens a key ring on it.
 */
export function testKeyRing(name: string, prepare: (t: TestContext) => OpenRing | Promise<OpenRing>): void {
  describe(name, () => {
    test('a key ring knows each issued key and its plan, and notices what another process changes', async (t) => {
      const open = await prepare(t);
      const [ring, other] = [await open(), await open()];
      assert.equal(await ring.isEmpty(), true);
      const free = await other.create({ name: 'free' }, { name: 'Ann' });
      const agreed = await ring.create({ name: 'enterprise', perDay: 7 });
      assert.equal(await ring.isEmpty(), false);
      assert.match(free.id, /^key_[0-9A-Za-z]{10}$/);
      assert.deepEqual(
        (await ring.list()).map(({ id, name, plan }) => ({ id, name, plan })),
        [
          { id: free.id, name: 'Ann', plan: { name: 'free' } },
          { id: agreed.id, name: undefined, plan: { name: 'enterprise', perDay: 7 } },
        ],
      );
      assert.equal((await ring.authenticate(free.key))?.id, free.id, 'a new key is valid immediately');
      assert.equal(ring.authenticate(free.key), ring.authenticate(free.key), 'remembered');
      assert.deepEqual(
        (await ring.authenticate(agreed.key))?.plan.policies.map(({ name, quota }) => [name, quota]),
        [['day', 7]],
      );
      assert.equal(await ring.authenticate(createApiKey()), undefined);
      assert.equal(ring.authenticate('so_'), undefined);

      const plan = { name: 'enterprise', perMinute: 5, perDay: 9 } as const;
      assert.equal(await other.setPlan(free.id, plan), 'changed');
      assert.deepEqual(await ring.get(free.id), { id: free.id, name: 'Ann', plan, createdAt: free.createdAt });
      await until(async () => (await ring.authenticate(free.key))?.plan.policies.length === 2);
      assert.equal(await other.setPlan(free.id, { name: 'pro' }), 'changed');
      assert.deepEqual((await ring.get(free.id))?.plan, { name: 'pro' });
      assert.equal(await other.revoke(free.id), 'changed');
      await until(async () => (await ring.authenticate(free.key)) === undefined);
      assert.equal(await ring.revoke(free.id), 'already_revoked');
      assert.equal(await ring.setPlan(free.id, { name: 'free' }), 'already_revoked');
      assert.match((await ring.get(free.id))?.revokedAt ?? '', /^\d{4}-\d\d-\d\dT.*Z$/);
      assert.equal(await ring.revoke('key_absent'), 'not_found');
      assert.equal(await ring.get('key_absent'), undefined);
    });

    test('an expired key is refused as a revoked one is, and its expiry stays when it is rotated', async (t) => {
      const ring = await (await prepare(t))();
      const [past, future] = [-1, 60_000].map((ms) => new Date(Date.now() + ms).toISOString());
      const plan = { name: 'free' } as const;
      const expired = await ring.create(plan, { expiresAt: past ?? '' });
      const valid = await ring.create(plan, { name: 'Ann', expiresAt: future ?? '' });
      assert.equal(await ring.authenticate(expired.key), undefined);
      assert.equal((await ring.authenticate(valid.key))?.id, valid.id);
      assert.deepEqual(
        (await ring.list()).map(({ name, expiresAt }) => [name, expiresAt]),
        [
          [undefined, past],
          ['Ann', future],
        ],
      );
      const rotated = await ring.rotate(valid.id);
      assert.ok(typeof rotated === 'object');
      assert.equal(rotated.expiresAt, future);
    });

    test('rotating a key replaces its secret and keeps everything else, also the secrets of other keys', async (t) => {
      const open = await prepare(t);
      const [ring, other] = [await open(), await open()];
      const neighbour = await ring.create({ name: 'free' });
      const issued = await ring.create({ name: 'enterprise', perDay: 7 }, { name: 'Ann' });
      assert.equal((await other.authenticate(issued.key))?.id, issued.id);
      const rotated = await ring.rotate(issued.id);
      assert.ok(typeof rotated === 'object');
      assert.notEqual(rotated.key, issued.key);
      assert.deepEqual({ ...rotated, key: issued.key }, issued);
      assert.equal((await ring.authenticate(rotated.key))?.id, issued.id, 'the new secret is valid immediately');
      assert.equal((await ring.authenticate(neighbour.key))?.id, neighbour.id);
      await until(async () => (await other.authenticate(issued.key)) === undefined);
      await ring.revoke(issued.id);
      assert.equal(await ring.rotate(issued.id), 'already_revoked');
      assert.equal(await ring.rotate('key_absent'), 'not_found');
    });
  });
}
