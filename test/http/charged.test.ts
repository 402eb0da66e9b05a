import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createPlan, type OrderServiceOptions, perMinute } from 'store-orders';
import { bearer, createShop, KEY, ORDERS } from './support/shop.js';

suite('a reply says who was charged, and whether an address is over its limit', () => {
  const addressPlan = createPlan({ name: 'address', policies: [perMinute(1)], partition: 'address' });

  async function factsOf(requests: number, rawHeaders: readonly string[], options: Partial<OrderServiceOptions> = {}) {
    const { service } = createShop({ addressPlan, ...options });
    for (let i = 1; i < requests; i++) await service.respond({ method: 'GET', url: ORDERS, rawHeaders }, '192.0.2.1');
    const reply = await service.respond({ method: 'GET', url: ORDERS, rawHeaders }, '192.0.2.1');
    return [reply.status, reply.charged, reply.isAddressOverLimit];
  }

  test('a request with a valid key is charged to the key', async () => {
    assert.deepEqual(await factsOf(2, bearer('tiny-key')), [200, 'key', false]);
    assert.deepEqual(await factsOf(3, bearer('tiny-key')), [429, 'key', false]);
  });

  test('a request without a valid key is charged to the address of its client', async () => {
    assert.deepEqual(await factsOf(1, bearer('unknown-key')), [401, 'address', false]);
    assert.deepEqual(await factsOf(2, []), [429, 'address', true]);
  });

  test('a valid key that has to be looked up is not charged to its address', async () => {
    assert.deepEqual(await factsOf(3, KEY, { isKnownKey: () => false }), [200, 'key', false]);
  });

  test('nobody is charged if the limiter fails, or if the service is closed', async () => {
    const take = () => {
      throw new Error('down');
    };
    assert.deepEqual(await factsOf(1, KEY, { limiter: { take } }), [503, undefined, false]);
    const { service } = createShop();
    await service.close();
    const { charged, isAddressOverLimit } = await service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY });
    assert.deepEqual([charged, isAddressOverLimit], [undefined, false]);
  });
});
