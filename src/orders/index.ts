export { type CancelOutcome, cancelOutcome, type OrderStatus, type ShipOutcome, shipOutcome } from './cancellation.js';
// These functions are for applications with an importer, an exporter or a store of their own. They
// keep every int64 exact. `JSON.parse` would round large ones.
export { serializeOrder, serializeOrders } from './json.js';
export { createMemoryOrderStore, type MemoryOrderStore } from './memory/store.js';
export { type Order, type OrderId, parseOrderId } from './order.js';
export {
  type OrderInput,
  type OrderRecord,
  type ParsedRecord,
  type ParseRecordOptions,
  parseOrderRecord,
} from './record.js';
export type {
  ListedOrders,
  MaybePromise,
  OrderPages,
  OrderStore,
  OwnedOrderStore,
  PutOptions,
  PutOutcome,
} from './store.js';
