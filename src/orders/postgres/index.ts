export type { HeldPostgresClient, PostgresClient, PostgresPool, PostgresRow } from '../../databases/postgres/client.js';
export {
  type NamedStatement,
  type NamingPostgresPool,
  withNamedStatements,
} from '../../databases/postgres/named-statements.js';
export { createMappedOrderStore, createPostgresOrderStore, type PostgresOrderStore } from './store.js';
export type { PostgresOrderTable } from './table.js';
