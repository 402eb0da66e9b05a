import {
  type Authenticate,
  createMemoryLimiter,
  createMemoryOrderStore,
  createOrderService,
  createPlan,
  type MemoryLimiter,
  type MemoryOrderStore,
  type OrderService,
  type OrderServiceOptions,
  PLANS,
  perDay,
  perMinute,
} from 'store-orders';
import { createManualClock, type ManualClock } from 'store-orders/testing';
import { INT64_MAX, INT64_MIN } from '../../orders/support/ids.js';

export const ORDERS = '/v1/store/orders';
export const order = (id: bigint | string | number) => `${ORDERS}/${id}`;

/** A plan with two quotas so small that a test can use up one after the other. */
const TINY = createPlan({ name: 'tiny', policies: [perMinute(2), perDay(5)], ban: false });

const PRINCIPALS = new Map([
  ['business-key', { id: 'owner', plan: PLANS.business }],
  ['free-key', { id: 'freya', plan: PLANS.free }],
  ['tiny-key', { id: 'tina', plan: TINY }],
]);

export const authenticate: Authenticate = (apiKey) => PRINCIPALS.get(apiKey);

export const bearer = (apiKey: string): [string, string] => ['Authorization', `Bearer ${apiKey}`];
export const KEY = bearer('business-key');
/** The head of a request for the list. */
export const GET = { method: 'GET', url: ORDERS, rawHeaders: KEY };

/** The service with everything in memory, on a clock that only moves when a test advances it. */
export interface Shop {
  readonly clock: ManualClock;
  readonly store: MemoryOrderStore;
  readonly limiter: MemoryLimiter;
  readonly service: OrderService;
}

export function createShop(options: Partial<OrderServiceOptions> = {}): Shop {
  const clock = createManualClock();
  const limiter = createMemoryLimiter({ clock });
  const store = createMemoryOrderStore([
    { id: 1, petId: 7, quantity: 2, shipDate: '2026-02-03T04:05:06Z', complete: false },
    { id: 2, status: 'shipped' },
    { id: 3, status: 'cancelled' },
    { id: 4, status: 'returned' },
    { id: 0 },
    { id: -5 },
    { id: 9007199254740991n },
    { id: 9007199254740992n },
    { id: 9007199254740993n },
    { id: INT64_MAX },
    { id: INT64_MIN },
  ]);
  return { clock, store, limiter, service: createOrderService({ store, limiter, authenticate, ...options }) };
}
