import type { SqliteRow } from '../../databases/sqlite/database.js';
import type { Schemas } from '../../databases/sqlite/migration.js';
import type { Order } from '../order.js';
import type { OrderRecord } from '../record.js';

/** The columns of a table of orders. */
export const COLUMNS = `(
      id INTEGER PRIMARY KEY, pet_id INTEGER, quantity INTEGER, ship_date TEXT, complete INTEGER,
      status TEXT NOT NULL) STRICT`;

export const ORDERS_SCHEMA: Schemas = {
  orders: [
    `CREATE TABLE orders ${COLUMNS};
    CREATE TABLE orders_revision (revision INTEGER NOT NULL) STRICT;
    INSERT INTO orders_revision VALUES (0);`,
    'CREATE TABLE orders_changes (revision INTEGER, id INTEGER, PRIMARY KEY (revision, id)) STRICT, WITHOUT ROWID;',
    // A changed list is read again as a whole.
    'DROP TABLE orders_changes;',
  ],
};

/** Counts a change of the list. It belongs into the same transaction as the change. */
export const COUNT_REVISION = 'UPDATE orders_revision SET revision = revision + 1';
export const SELECT_REVISION = 'SELECT revision FROM orders_revision';

/** Returns the values of a record in the order of the table's columns. */
export function valuesOf({ id, petId, quantity, shipDate, complete, status }: OrderRecord) {
  return [
    id,
    petId ?? null,
    quantity === undefined ? null : BigInt(quantity),
    shipDate ?? null,
    complete === undefined ? null : BigInt(complete),
    status,
  ] as const;
}

export function orderOf(row: SqliteRow): Order {
  const { id, pet_id: petId, quantity, ship_date: shipDate, complete } = row;
  return {
    id: BigInt(id ?? 0),
    ...(typeof petId === 'bigint' && { petId }),
    ...(typeof quantity === 'bigint' && { quantity: Number(quantity) }),
    ...(typeof shipDate === 'string' && { shipDate }),
    ...(typeof complete === 'bigint' && { complete: complete === 1n }),
  };
}

export function recordOf(row: SqliteRow): OrderRecord {
  return { ...orderOf(row), status: String(row['status']) };
}
