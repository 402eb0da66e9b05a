import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from 'store-orders/testing';
import { createApiKey } from '../../../dist/server/keys/api-key.js';
import type { KeyRecord } from '../../../dist/server/keys/key-record.js';
import { createKeyRing } from '../../../dist/server/keys/key-ring.js';

const record: KeyRecord = { id: 'key_1', plan: { name: 'free' }, createdAt: '2026-01-05T09:30:00Z' };

/** Creates a key ring whose look-ups last until the test ends them. */
function createSlowKeys() {
  const clock = createManualClock();
  const lookUps: (() => void)[] = [];
  const never = () => assert.fail('not called');
  const byDigest = () => new Promise<KeyRecord>((resolve) => lookUps.push(() => resolve(record)));
  const reads = { byDigest, isEmpty: never, list: never, get: never };
  const writes = { add: never, setPlan: never, setDigest: never, setRevoked: never };
  return { clock, lookUps, keys: createKeyRing(reads, writes, { clock }) };
}

test('concurrent requests share the look-up of their key', async () => {
  const { lookUps, keys } = createSlowKeys();
  const apiKey = createApiKey();
  const principals = Array.from({ length: 100 }, () => keys.authenticate(apiKey));
  assert.equal(lookUps.length, 1);
  lookUps[0]?.();
  assert.deepEqual(new Set((await Promise.all(principals)).map((principal) => principal?.id)), new Set(['key_1']));
});

test('a look-up that is too slow to be shared does not end the sharing of the next one', async () => {
  const { clock, lookUps, keys } = createSlowKeys();
  const apiKey = createApiKey();
  const first = keys.authenticate(apiKey);
  clock.advance(1_000);
  const second = keys.authenticate(apiKey);
  assert.equal(lookUps.length, 2);
  lookUps[0]?.();
  await first;
  clock.advance(100);
  const third = keys.authenticate(apiKey);
  assert.equal(lookUps.length, 2);
  lookUps[1]?.();
  assert.equal((await third)?.id, 'key_1');
  assert.equal((await second)?.id, 'key_1');
});
