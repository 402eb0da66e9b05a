/**
 * The parts of the SQLite store with which the program keeps orders, keys and quotas in one file. No
 * entry of the package exports them.
 */
export type { ImportedRecord, ImportOutcome } from '../store.js';
export { createFileOrders, createOrderParts } from './file-store.js';
export { importRecords } from './import.js';
export { readRecords } from './list.js';
export { createOrders } from './store.js';
export { ORDERS_SCHEMA } from './table.js';
