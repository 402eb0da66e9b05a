import type { SqliteRow, SqliteValue } from '../../databases/sqlite/database.js';
import type { Schemas } from '../../databases/sqlite/migration.js';
import { FIELD_NAMES, FIELDS, type MutableOrder } from '../fields.js';
import type { Order } from '../order.js';
import type { OrderRecord } from '../record.js';

/** Each row that is inserted counts as a change of the list. */
export const INSERT_TRIGGER = `CREATE TRIGGER orders_inserted AFTER INSERT ON orders
  BEGIN UPDATE orders_revision SET revision = revision + 1; END`;

/**
 * The table accepts what `parseOrderRecord` accepts, whichever program writes it. No date functions
 * are used, because with them libsql reports sound rows as damage. GLOB and substr end at a NUL.
 *
 * The revision counts the changes of the list by any program. A cancel changes only the status,
 * which is not in the list.
 */
export const ORDERS_SCHEMA: Schemas = {
  orders: [
    `CREATE TABLE orders (
      id INTEGER PRIMARY KEY,
      pet_id INTEGER,
      quantity INTEGER CONSTRAINT order_quantity_is_a_safe_integer
        CHECK (quantity BETWEEN -9007199254740991 AND 9007199254740991),
      ship_date TEXT CONSTRAINT order_ship_date_is_rfc_3339 CHECK (
        substr(ship_date, 1, 19) GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9][Tt][0-2][0-9]:[0-5][0-9]:[0-6][0-9]'
        AND substr(ship_date, 6, 2) BETWEEN '01' AND '12'
        AND substr(ship_date, 9, 2) BETWEEN '01' AND CASE
          WHEN substr(ship_date, 6, 2) IN ('04', '06', '09', '11') THEN '30'
          WHEN substr(ship_date, 6, 2) <> '02' THEN '31'
          WHEN substr(ship_date, 1, 4) % 4 = 0 AND (substr(ship_date, 3, 2) <> '00' OR substr(ship_date, 1, 2) % 4 = 0)
            THEN '29'
          ELSE '28' END
        AND substr(ship_date, 12, 2) <= '23'
        AND (substr(ship_date, 18, 2) <= '59'
          OR substr(ship_date, 12, 8) = '23:59:60' AND substr(ship_date, -1) IN ('Z', 'z'))
        AND (substr(ship_date, 20) IN ('Z', 'z')
          -- What follows the decimals of the second
          OR replace(upper(CASE
            WHEN substr(ship_date, 20, 2) GLOB '.[0-9]' THEN ltrim(substr(ship_date, 21), '0123456789')
            ELSE substr(ship_date, 20) END), 'Z', '+00:00') GLOB '[+-][0-2][0-9]:[0-5][0-9]'
          AND (substr(ship_date, -1) IN ('Z', 'z') OR substr(ship_date, -5, 2) <= '23')
          AND length(ship_date) <= 58 + iif(substr(ship_date, -1) IN ('Z', 'z'), 1, 6))
        AND instr(ship_date, char(0)) = 0),
      complete INTEGER CONSTRAINT order_complete_is_0_or_1 CHECK (complete IN (0, 1)),
      status TEXT NOT NULL CONSTRAINT order_status_is_a_word CHECK (
        status IN ('pending', 'shipped', 'cancelled')
        OR status GLOB '[a-z]*' AND status NOT GLOB '*[^a-z0-9_]*' AND length(status) <= 64
          AND instr(status, char(0)) = 0)
    ) STRICT;
    CREATE TABLE orders_revision (revision INTEGER NOT NULL) STRICT;
    INSERT INTO orders_revision VALUES (0);
    CREATE TRIGGER orders_deleted AFTER DELETE ON orders
      BEGIN UPDATE orders_revision SET revision = revision + 1; END;
    -- SQLite compares the names in the UPDATE, and an id has four
    CREATE TRIGGER orders_updated
      AFTER UPDATE OF id, rowid, oid, _rowid_, pet_id, quantity, ship_date, complete ON orders
      BEGIN UPDATE orders_revision SET revision = revision + 1; END;
    ${INSERT_TRIGGER}`,
  ],
};

/**
 * Selects a number that changes with the list. Without a trigger, as after a tool has recreated the
 * table, the number is another one each time, so that no change is missed.
 */
export const SELECT_REVISION = `SELECT coalesce(
  CASE (SELECT count(*) FROM sqlite_schema
    WHERE type = 'trigger' AND name IN ('orders_inserted', 'orders_deleted', 'orders_updated'))
  WHEN 3 THEN (SELECT revision FROM orders_revision) END, random()) AS revision`;

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
