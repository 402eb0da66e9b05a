import type { SqliteRow, SqliteValue } from '../../databases/sqlite/database.js';
import type { Schemas } from '../../databases/sqlite/migration.js';
import { FIELD_NAMES, FIELDS, type MutableOrder } from '../fields.js';
import type { Order } from '../order.js';
import type { OrderRecord } from '../record.js';

export const ORDERS_SCHEMA: Schemas = {
  orders: [
    `CREATE TABLE orders (
      id INTEGER PRIMARY KEY, pet_id INTEGER, quantity INTEGER, ship_date TEXT, complete INTEGER,
      status TEXT NOT NULL) STRICT;
    CREATE TABLE orders_revision (revision INTEGER NOT NULL) STRICT;
    INSERT INTO orders_revision VALUES (0);`,
  ],
};

/** Counts a change of the list. Run it in the same transaction as the change. */
export const COUNT_REVISION = 'UPDATE orders_revision SET revision = revision + 1';
export const SELECT_REVISION = 'SELECT revision FROM orders_revision';

export const COLUMN_NAMES = [...FIELD_NAMES.map((name) => FIELDS[name].column), 'status'];

/** SQL that serialises a row as `serializeOrder` does. */
export const ROW_AS_JSON = `'{"id":' || id${FIELD_NAMES.filter((name) => name !== 'id')
  .map((name) => ` || iif(${FIELDS[name].column} IS NULL, '', ',"${name}":' || ${valueAsJson(name)})`)
  .join('')} || '}'`;

function valueAsJson(name: keyof Order): string {
  const { column, type } = FIELDS[name];
  if (type.sqlType === 'boolean') return `iif(${column}, 'true', 'false')`;
  return type.sqlType === 'text' ? `json_quote(${column})` : column;
}

/** Returns the values of a record in the order of {@link COLUMN_NAMES}. */
export function valuesOf(record: OrderRecord): SqliteValue[] {
  return [...FIELD_NAMES.map((name) => toSqlite(record[name])), record.status];
}

function toSqlite(value: Order[keyof Order]): SqliteValue {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : BigInt(value);
}

export function orderOf(row: SqliteRow): Order {
  const order: MutableOrder = { id: 0n };
  for (const name of FIELD_NAMES) setStored(order, name, row[FIELDS[name].column]);
  return order;
}

function setStored<Name extends keyof Order>(order: MutableOrder, name: Name, value: SqliteValue | undefined): void {
  if (typeof value === 'bigint' || typeof value === 'string') order[name] = FIELDS[name].type.fromSqlite(value);
}

export function recordOf(row: SqliteRow): OrderRecord {
  return { ...orderOf(row), status: String(row['status']) };
}
