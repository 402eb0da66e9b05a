import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forwardedAddress } from 'store-orders/handler';
import { createShop, ORDERS } from './support/shop.js';

function forwarded(proxies: number, field: string | string[] | undefined, peer: string | undefined = '192.0.2.9') {
  return forwardedAddress(proxies)({ socket: { remoteAddress: peer }, headers: { 'x-forwarded-for': field } });
}

test('forwardedAddress(n) returns the n-th address from the right of X-Forwarded-For, but reads no further than the first invalid one', () => {
  const rows: [number, string | string[] | undefined, string][] = [
    [0, '198.51.100.1', '192.0.2.9'],
    [1, undefined, '192.0.2.9'],
    [1, '198.51.100.1', '198.51.100.1'],
    // A client can send the field too. Its entries come before those of the proxies.
    [1, '10.0.0.1, 203.0.113.6, 198.51.100.1', '198.51.100.1'],
    [2, '203.0.113.6,198.51.100.1 ', '203.0.113.6'],
    [3, '203.0.113.6, 198.51.100.1', '203.0.113.6'],
    [2, 'unknown, 198.51.100.1', '198.51.100.1'],
    [3, '203.0.113.6, unknown, 198.51.100.1', '198.51.100.1'],
    [1, '198.51.100.1, ', '192.0.2.9'],
    [2, ['203.0.113.6', '198.51.100.1'], '203.0.113.6'],
    [1, '198.51.100.1:4711', '198.51.100.1'],
    [1, '[2001:db8::1]:4711', '2001:db8::1'],
    [1, '[2001:db8::1]', '2001:db8::1'],
    [1, '2001:db8::1', '2001:db8::1'],
    [1, 'fe80::1%eth0', 'fe80::1'],
  ];
  for (const [proxies, field, expected] of rows)
    assert.equal(forwarded(proxies, field), expected, `${proxies} ${field}`);
});

test('forwardedAddress throws for an invalid number of proxies', () => {
  for (const proxies of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    const message = 'proxies: expected a whole number from 0 up';
    assert.throws(() => forwardedAddress(proxies), { name: 'RangeError', message });
  }
});

test('requests without a valid key have one limit per IPv4 address or IPv6 /64 network, and share one limit if their address is unknown', async (t) => {
  const { service, limiter } = createShop();
  const take = t.mock.method(limiter, 'take');
  const groups: Readonly<Record<string, readonly (string | undefined)[]>> = {
    '192.0.2.1': ['192.0.2.1', '::ffff:192.0.2.1', '::ffff:c000:201', '0:0:0:0:0:FFFF:192.0.2.1', '192.0.2.1:80'],
    '192.0.2.2': ['64:ff9b::192.0.2.2', '[64:FF9B::c000:202]:80', '::ffff:0:192.0.2.2', '::ffff:0:c000:202'],
    '2001:db8:1:2::/64': ['2001:0db8:0001:0002::7%3', '2001:DB8:1:2:ffff:ffff:ffff:ffff', '[2001:db8:1:2::5]:443'],
    '2001:db8:0:0::/64': ['2001:db8::1', '2001:db8::', '2001:db8:0:0:1::1'],
    '0:0:0:0::/64': ['::1', '::', '::192.0.2.1', '0:0:0:0:ffff:1::1'],
    '1:0:0:0::/64': ['1::'],
    '2001:0:0:3::/64': ['2001:0:0:3::1', '2001::3:4:5:6:7'],
    'fe80:0:0:0::/64': ['fe80::1%eth0', 'fe80::2%eth1', 'fe80::3'],
    '64:ff9b:0:0::/64': ['64:ff9b::1:192.0.2.1', '64:ff9b::1:0:0:1'],
    '64:ff9b:1:0::/64': ['64:ff9b:1::192.0.2.1'],
    local: [undefined, '', 'unix:', 'constructor', '256.1.1.1', '1:2:3', ':::'],
  };
  for (const [key, addresses] of Object.entries(groups)) {
    for (const address of addresses) {
      const { status } = await service.respond({ method: 'GET', url: ORDERS, rawHeaders: [] }, address);
      const [taken, plan] = take.mock.calls.pop()?.arguments ?? [];
      assert.deepEqual([status, taken, plan?.partition], [401, key, 'address'], address);
    }
  }
});
