import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestService } from 'store-orders/testing';

test('no policy of an address has the name of one of a key', async () => {
  const { url, fetch, apiKey } = createTestService();
  const policyOf = async (headers: Record<string, string>) =>
    (await fetch(`${url}/store/orders`, { headers })).headers.get('RateLimit-Policy');
  assert.equal(await policyOf({}), '"address-minute";q=600;w=60');
  assert.equal(await policyOf({ Authorization: `Bearer ${apiKey}` }), '"minute";q=60;w=60, "day";q=1000;w=86400');
});
