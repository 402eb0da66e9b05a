import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlan, type OrderServiceOptions, perMinute } from 'store-orders';
import { bearer, createShop, KEY, ORDERS } from './support/shop.js';

test('a reply says who was charged, and whether an address is over its limit', async () => {
  const addressPlan = createPlan({ name: 'address', policies: [perMinute(1)], partition: 'address' });
  const take = () => Promise.reject(new Error('down'));
  const rows: [number, readonly string[], Partial<OrderServiceOptions>, [number, string | undefined, boolean]][] = [
    [2, bearer('tiny-key'), {}, [200, 'key', false]],
    [3, bearer('tiny-key'), {}, [429, 'key', false]],
    [1, bearer('unknown-key'), {}, [401, 'address', false]],
    [2, [], {}, [429, 'address', true]],
    // A key that has to be looked up is not charged to its address.
    [3, KEY, { isKnownKey: () => false }, [200, 'key', false]],
    [1, KEY, { limiter: { take } }, [503, undefined, false]],
  ];
  for (const [requests, rawHeaders, options, expected] of rows) {
    const { service } = createShop({ addressPlan, ...options });
    const respond = () => service.respond({ method: 'GET', url: ORDERS, rawHeaders }, '192.0.2.1');
    for (let i = 1; i < requests; i++) await respond();
    const { status, charged, isAddressOverLimit } = await respond();
    assert.deepEqual([status, charged, isAddressOverLimit], expected);
    await service.close();
    assert.equal((await respond()).charged, undefined, 'a closed service charges nobody');
  }
});
