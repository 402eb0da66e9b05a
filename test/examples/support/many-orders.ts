import {
  createKeyAuthenticator,
  createMemoryLimiter,
  createMemoryOrderStore,
  createOrderService,
  PLANS,
} from 'store-orders';

// Stands in for `examples/orders.ts`, whose list is too short to be compressed.
export const service = createOrderService({
  store: createMemoryOrderStore(Array.from({ length: 1_000 }, (_, id) => ({ id }))),
  limiter: createMemoryLimiter(),
  authenticate: createKeyAuthenticator({ 'open-sesame': { id: 'customer-1', plan: PLANS.free } }),
});
