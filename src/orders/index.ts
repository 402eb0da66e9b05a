export { type CancelOutcome, cancelOutcome, type OrderStatus, type ShipOutcome, shipOutcome } from './cancellation.js';
// These functions are for hosts that write an importer, an exporter or a store. `JSON.parse` would
// round an int64.
export { JsonSyntaxError, parseJson, printOrder, printOrders } from './json.js';
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
  OrderBatch,
  OrderStore,
  OwnedOrderStore,
  PutOptions,
  PutOutcome,
  StreamedText,
  VersionedText,
} from './store.js';
