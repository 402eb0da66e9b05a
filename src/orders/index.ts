export { type CancelOutcome, cancelOutcome, type OrderStatus, type ShipOutcome, shipOutcome } from './cancellation.js';
export { serializeOrder } from './json.js';
export { createMemoryOrderStore, type MemoryOrderStore } from './memory/store.js';
export { type Order, type OrderId, parseOrderId } from './order.js';
export { type OrderInput, type OrderRecord, parseOrderRecord } from './record.js';
export type {
  ListedOrders,
  MaybePromise,
  OrderArray,
  OrderPages,
  OrderStore,
  OwnedOrderStore,
  PutOptions,
  PutOutcome,
  SharedOrderStore,
} from './store.js';
