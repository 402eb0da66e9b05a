/**
 * The parts of the PostgreSQL store with which the program keeps orders beside keys, imports and
 * exports them. No entry of the package exports them.
 */
export { importRecords } from './import.js';
export { readRecords } from './list.js';
export { ORDERS_SCHEMA } from './own-table.js';
export { restoreRevision } from './revision.js';
export { createOwnStore } from './store.js';
export { CHANGE } from './transition.js';
