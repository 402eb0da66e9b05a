import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPlan, PLANS, perMinute, type Reply } from 'store-orders';
import { createGuard } from 'store-orders/guard';
import { bearer, createShop, ORDERS } from './support/shop.js';

const QUOTA = 5;
const addressPlan = createPlan({ name: 'address', partition: 'address', policies: [perMinute(QUOTA)] });
const FLOODED = '192.0.2.1';

/**
 * Creates a service and a guard over the same parts. Keys are looked up asynchronously, as in a
 * remote table.
 */
function createParts(withKnownKeys = true) {
  const asked: string[] = [];
  const known = new Set<string>();
  const options = {
    addressPlan,
    async authenticate(apiKey: string) {
      asked.push(apiKey);
      if (!apiKey.startsWith('valid-')) return undefined;
      known.add(apiKey);
      return { id: apiKey.slice(6), plan: PLANS.pro };
    },
    ...(withKnownKeys && { isKnownKey: (apiKey: string) => known.has(apiKey) }),
  };
  const { service, limiter, clock } = createShop(options);
  const guard = createGuard({ ...options, limiter });
  const get = async (apiKey: string, address = FLOODED): Promise<Reply> =>
    service.respond({ method: 'GET', url: ORDERS, rawHeaders: bearer(apiKey) }, address);
  const flood = async () => {
    for (let i = 0; i < QUOTA; i++) assert.equal((await get(`made-up-${i}`)).status, 401);
    asked.length = 0;
  };
  return { asked, get, flood, guard, limiter, clock };
}

describe('API keys that the process has not seen before', () => {
  test('an unseen key gets a 429 without a look-up and without a charge if its address is over the limit', async () => {
    const { asked, get, flood, clock, limiter } = createParts();
    await flood();
    for (let i = 0; i < 50; i++) assert.equal((await get(`made-up-${i}`)).status, 429);
    const refused = await get('valid-ann');
    assert.deepEqual([refused.status, asked], [429, []]);
    assert.equal(fieldOf(refused, 'X-RateLimit-Limit'), `${QUOTA}`, 'X-RateLimit-Limit is the limit of the address');
    assert.match(String(refused.body), /rate_limit_exceeded/);
    assert.equal(limiter.inspect('ann'), undefined);
    clock.advance(Number(fieldOf(refused, 'Retry-After')) * 1_000);
    assert.equal((await get('valid-ann')).status, 200, 'a request passes after the announced Retry-After');
  });

  test('an unseen key is looked up while its address has quota left, and a valid key does not use the quota of the address', async () => {
    const { get } = createParts();
    for (let i = 0; i < QUOTA - 1; i++) assert.equal((await get('made-up')).status, 401);
    for (let i = 0; i < 20; i++) assert.equal((await get(`valid-${i}`)).status, 200);
    assert.equal((await get('made-up')).status, 401, 'valid keys have not used the quota of the address');
    assert.equal((await get('made-up')).status, 429);
  });

  test('an unseen key is looked up if it is sent from an address that has quota left', async () => {
    const { get, flood } = createParts();
    await flood();
    assert.equal((await get('valid-ann', '192.0.2.2')).status, 200);
  });

  test('if isKnownKey is not set, a key that was not seen before is always looked up', async () => {
    const { get, flood } = createParts(false);
    await flood();
    assert.deepEqual([(await get('valid-ann')).status, (await get('made-up')).status], [200, 429]);
  });
});

test('a request with a key that this process has already found valid is served even if the client address is over its limit', async () => {
  const { get, flood, guard } = createParts();
  assert.equal((await get('valid-ann')).status, 200);
  await flood();
  for (let i = 0; i < 20; i++) assert.equal((await get('valid-ann')).status, 200);
  const admitted = await guard.admit({ method: 'GET', url: '/pets', rawHeaders: bearer('valid-ann') }, FLOODED);
  const refused = await guard.admit({ method: 'GET', url: '/pets', rawHeaders: bearer('valid-bob') }, FLOODED);
  assert.deepEqual([admitted.admitted, refused.admitted], [true, false]);
});

test('createOrderService throws if isKnownKey is not a function', () => {
  assert.throws(() => createShop({ isKnownKey: Object(true) }), {
    name: 'TypeError',
    message: 'isKnownKey: expected a function',
  });
});

function fieldOf({ headers }: Reply, name: string): string | undefined {
  const index = headers.indexOf(name);
  return index < 0 ? undefined : headers[index + 1];
}
