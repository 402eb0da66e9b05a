import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CONTRACT } from './support/contract.js';
import { createShop, KEY, ORDERS } from './support/shop.js';
import { WAYS } from './support/ways.js';

test('every tested clause of the specification has a unique id', () => {
  assert.equal(new Set(CONTRACT.map(({ id }) => id)).size, CONTRACT.length);
});

for (const way of WAYS) {
  suite(`reached by ${way.name}`, () => {
    for (const { id, says, verbatim, check } of CONTRACT) {
      if (verbatim && !way.isVerbatim) continue;
      test(`${id}: ${says}`, async () => {
        const shop = createShop();
        const { ask, close } = await way.open(shop.service);
        try {
          await check(ask, shop);
        } finally {
          await close();
        }
      });
    }

    test('9-version: every path begins with the base path, which can have any number of segments', async () => {
      for (const basePath of ['', '/v1', '/shop/animals/v2']) {
        const { service } = createShop({ basePath });
        const { ask, close } = await way.open(service);
        try {
          assert.equal((await ask('GET', `${basePath}/store/orders`, [KEY])).status, 200, basePath);
          assert.equal((await ask('GET', `/other${ORDERS}`, [KEY])).status, 404);
        } finally {
          await close();
        }
      }
    });
  });
}

test('createOrderService throws an error that names the invalid option', () => {
  const rows: [RegExp, Parameters<typeof createShop>[0]][] = [
    [/^basePath:/, { basePath: '/v1/' }],
    [/^basePath:/, { basePath: 'v1' }],
    [/^basePath:/, { basePath: '/a b' }],
    [/^basePath:/, { basePath: '//' }],
    [/^store:/, JSON.parse('{ "store": {} }')],
    [/^store:/, JSON.parse('{ "store": null }')],
    [/^limiter:/, JSON.parse('{ "limiter": "memory" }')],
    [/^authenticate:/, JSON.parse('{ "authenticate": {} }')],
    [/^addressPlan:/, JSON.parse('{ "addressPlan": null }')],
    [/^addressPlan:/, JSON.parse('{ "addressPlan": { "partition": "key" } }')],
  ];
  for (const [message, options] of rows) {
    assert.throws(() => createShop(options), { name: 'TypeError', message });
  }
});
