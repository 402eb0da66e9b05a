import type { Schemas } from '../../databases/sqlite/migration.js';
import type { OpenFile } from '../../databases/sqlite/worker.js';
import { createOrderParts, ORDERS_SCHEMA } from '../../orders/sqlite/engine.js';
import { createQuotaTable } from './quota-table.js';
import { createKeyTable } from './sqlite-keys.js';

const PROGRAM_SCHEMA: Schemas = {
  program: [
    `CREATE TABLE keys (
      id TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, name TEXT, plan TEXT NOT NULL, per_minute INTEGER,
      per_day INTEGER, created_at TEXT NOT NULL, revoked_at TEXT, expires_at TEXT) STRICT;
    CREATE TABLE quotas (key_id TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT;
    CREATE TABLE quota_requests (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, key_id TEXT NOT NULL, action TEXT NOT NULL, until_ms INTEGER) STRICT;`,
  ],
};

export const SCHEMAS: Schemas = { ...ORDERS_SCHEMA, ...PROGRAM_SCHEMA };

export type ProgramParts = ReturnType<typeof createProgramParts>;

/**
 * Creates the objects that a thread of the file runs over the tables of the program. All their
 * writes share commits.
 */
export function createProgramParts(file: OpenFile) {
  return {
    ...createOrderParts(file),
    keys: createKeyTable(file.database, file.queue),
    quotas: createQuotaTable(file.database, file.queue),
  };
}
