import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, createMemoryOrderStore, createOrderService } from 'store-orders';
import { createOrderServer } from 'store-orders/server';
import { createManualClock, createTestService } from 'store-orders/testing';

const parts = {
  store: createMemoryOrderStore(),
  limiter: createMemoryLimiter(),
  authenticate: () => undefined,
};

/**
 * Functions that take options, and valid options for each. The calls are not type-checked, as in
 * JavaScript.
 */
const ROWS: readonly (readonly [name: string, make: (options: object) => unknown, good: object])[] = [
  ['createOrderService', (options) => Reflect.apply(createOrderService, undefined, [options]), parts],
  [
    'createOrderServer',
    (options) => Reflect.apply(createOrderServer, undefined, [options]),
    { ...parts, trustProxy: 1 },
  ],
  ['createTestService', (options) => Reflect.apply(createTestService, undefined, [options]), { orders: [{ id: 1 }] }],
];

for (const [name, make, good] of ROWS) {
  test(`${name} throws for an unknown option, and names it`, () => {
    make(good);
    for (const mistyped of ['basPath', 'toString', '__proto']) {
      assert.throws(() => make({ ...good, [mistyped]: undefined }), {
        name: 'TypeError',
        message: new RegExp(`^${mistyped}: unknown option; expected one of `),
      });
    }
  });
}

test('createTestService throws for the options store, limiter and authenticate, because it creates its own', () => {
  for (const [part, value] of Object.entries(parts)) {
    assert.throws(() => Reflect.apply(createTestService, undefined, [{ [part]: value }]), {
      name: 'TypeError',
      message: `${part}: unknown option; expected one of orders, plan, clock, basePath, addressPlan`,
    });
  }
});

test('createTestService accepts a manual clock, and throws for an incomplete clock', () => {
  const clock = createManualClock();
  assert.equal(createTestService({ clock }).clock, clock);
  for (const wrong of [null, 0, { nowMs: () => 0 }, { nowMs: () => 0, utcOffsetMs: () => 0 }]) {
    assert.throws(() => Reflect.apply(createTestService, undefined, [{ clock: wrong }]), {
      name: 'TypeError',
      message: /^clock: expected an object with the method (?:nowMs|utcOffsetMs|advance)$/,
    });
  }
});

test('createManualClock throws if the start is not a number of whole milliseconds', () => {
  assert.equal(createManualClock(-1).nowMs(), -1);
  for (const startMs of [Number.NaN, 0.5, '0', { startMs: 0 }, new Date(0), 2 ** 53]) {
    assert.throws(() => Reflect.apply(createManualClock, undefined, [startMs]), {
      name: 'TypeError',
      message: 'startMs: expected a Unix time in whole milliseconds',
    });
  }
});
