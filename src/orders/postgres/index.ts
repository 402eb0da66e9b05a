export type {
  HeldPostgresClient,
  PostgresClient,
  PostgresPool,
  PostgresRow,
  PostgresStatement,
} from '../../databases/postgres/client.js';
export { createMappedOrderStore, createPostgresOrderStore, type PostgresOrderStore } from './store.js';
export type { PostgresOrderTable } from './table.js';
