export { type CancelOutcome, cancel, type OrderStatus, type ShipOutcome, ship } from './cancellation.js';
export { createMemoryOrderStore, type MemoryOrderStore } from './memory.js';
export { type Order, type OrderId, parseOrderId } from './order.js';
export type { OrderInput, OrderRecord } from './record.js';
export type { ListedOrders, OrderStore, OwnedOrderStore, PutOptions, PutOutcome } from './store.js';
