import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { OrderServiceOptions } from 'store-orders';
import { fakeStore } from '../support/fake-store.js';
import { createShop, KEY, ORDERS } from './support/shop.js';

suite('the service sends a 503 if a function that it was given throws, and a 500 if its own code throws', () => {
  async function statusOf(options: Partial<OrderServiceOptions>): Promise<number> {
    const { service } = createShop(options);
    return (await service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY })).status;
  }

  /** Accepts a list of any type, because a store may be JavaScript code without type checks. */
  const listing = (list: () => unknown) => statusOf({ store: fakeStore({ list: () => Object(list()) }) });

  const unserialisable: readonly unknown[] = [{ id: 1n, petId: Symbol('no number') }];
  const fail = () => {
    throw new Error('the disk is gone');
  };

  test('orders that cannot be serialised lead to a 500', async () => {
    for (const change of [(list: object) => list, Object.freeze]) {
      const list = change([...unserialisable]);
      assert.equal(await listing(() => list), 500);
      assert.equal(await listing(async () => list), 500);
      const streamed = change({
        async *[Symbol.asyncIterator]() {
          yield list;
        },
      });
      assert.equal(await listing(() => streamed), 500);
    }
  });

  test('if reading the list throws, the response is a 503, whatever was thrown', async () => {
    for (const thrown of [new Error('the disk is gone'), 'text', undefined]) {
      const fail = () => {
        throw thrown;
      };
      for (const version of [undefined, 'v1']) {
        assert.equal(await listing(() => ({ version, [Symbol.asyncIterator]: fail })), 503);
      }
    }
    assert.equal(await listing(fail), 503);
  });

  test('a limiter that returns no decision leads to a 500, and a limiter that throws leads to a 503', async () => {
    assert.equal(await statusOf({ limiter: { take: () => JSON.parse('{}') } }), 500);
    assert.equal(await statusOf({ limiter: { take: fail } }), 503);
  });
});
