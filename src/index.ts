export * from './http/index.js';
export * from './limits/index.js';
export {
  type CancelOutcome,
  createMemoryOrderStore,
  type ListedOrders,
  type MaybePromise,
  type MemoryOrderStore,
  type Order,
  type OrderArray,
  type OrderId,
  type OrderInput,
  type OrderPages,
  type OrderRecord,
  type OrderStatus,
  type OrderStore,
  type OwnedOrderStore,
  type PutOptions,
  type PutOutcome,
  parseOrderId,
  type SharedOrderStore,
  type ShipOutcome,
} from './orders/index.js';
