import { checkFields } from '../../check.js';
import { ORDER_STATUSES, type OrderStatus } from '../cancellation.js';
import { FIELD_NAMES, FIELDS, type MutableOrder, setField } from '../fields.js';
import type { Order } from '../order.js';
import { CHECKED_SERIALIZERS } from './fields.js';

/**
 * The table in which the embedding program keeps its orders. If the table does not have the columns
 * that are described here, use a view of it. PostgreSQL must be able to lock and update the view's
 * rows: the view has no DISTINCT, GROUP BY, aggregate, window function or UNION. With a trigger
 * INSTEAD OF UPDATE it may join tables, but the orders must not be on the optional side of an outer
 * join. With any other view, each cancel rejects.
 */
export interface PostgresOrderTable {
  /**
   * The name of the table, such as `orders` or `shop.orders`, exactly as PostgreSQL stores it:
   * upper and lower case differ. The name of a schema or table must not contain a dot itself.
   */
  readonly table: string;
  /**
   * The names of the table's columns. An order in the list lacks a field if the field has no column
   * here or the column is NULL.
   */
  readonly columns: {
    /**
     * A column of type `smallint`, `integer`, `bigint` or `numeric`, with a unique index. With any
     * other type, `list` and `cancel` reject, because it could not tell each order from the next. If
     * the column has NULL or any other value that is not an int64, `list` rejects.
     */
    readonly id: string;
    /** Any type that can be written as text: text, an enum, an integer. */
    readonly status: string;
    /** An integer in a column of any type. The list leaves out any other value. */
    readonly petId?: string | undefined;
    /**
     * An integer in a column of any type. The list leaves out any other value, and a quantity beyond
     * ±(2^53 − 1).
     */
    readonly quantity?: string | undefined;
    /**
     * A `timestamptz`, `timestamp` or `date` column, or a text column in the format of RFC 3339.
     * A `timestamptz` is listed in UTC. Values of `timestamp` and `date` are taken as UTC. The list
     * leaves out any value that RFC 3339 cannot represent, such as a year before 1 or after 9999.
     */
    readonly shipDate?: string | undefined;
    /**
     * A `boolean`, one of the numbers 0 and 1, or a text such as `true`, `yes`, `on`, `no` or `off`, in
     * a column of any type. The list leaves out any other value.
     */
    readonly complete?: string | undefined;
  };
  /**
   * The texts that stand for a status in the column. Default: the name of the status. If a status
   * has several texts, all are read and the first is written. An order with any other text, or with
   * NULL, cannot be cancelled.
   */
  readonly statuses?: Readonly<Partial<Record<KnownStatus, string | readonly string[] | undefined>>> | undefined;
  /**
   * A query that returns one value, which changes whenever an order, as listed, is added, changed or
   * deleted, such as `SELECT changes FROM shop.orders_revision`. With it, the list is read once for
   * each change and shared by all clients. While the value is NULL or missing, the list is read at
   * most every tenth of a second. Without a `revision`, it is read for each client.
   */
  readonly revision?: string | undefined;
}

type KnownStatus = (typeof ORDER_STATUSES)[number];

/** A {@link PostgresOrderTable}, checked and quoted for SQL, where `o` is the table's alias. */
export interface OrderTable {
  readonly table: string;
  readonly id: string;
  readonly status: string;
  /** SQL that serialises a row as `serializeOrder` does. */
  readonly json: string;
  /** The known status that each text in the status column stands for. */
  readonly statuses: ReadonlyMap<string, OrderStatus>;
  /** SQL that returns one text, `revision`, which changes whenever the list changes. */
  readonly revision: string | undefined;
}

/**
 * Checks and quotes the embedding program's description of its table. Throws a TypeError that names
 * an invalid option.
 */
export function readTable(description: PostgresOrderTable, serializers = CHECKED_SERIALIZERS): OrderTable {
  checkFields('table', description, ['statuses', 'revision'], ['table', 'columns']);
  const { table, columns, statuses = {}, revision } = description;
  const names = typeof table === 'string' ? table.split('.') : [table];
  if (names.length > 2) throw new TypeError('table: expected a name such as orders or shop.orders');
  checkFields('columns', columns, FIELD_NAMES, ['id', 'status']);
  checkFields('statuses', statuses, ORDER_STATUSES);
  if (revision !== undefined && (typeof revision !== 'string' || revision === '')) {
    throw new TypeError('revision: expected an SQL query');
  }

  function column(field: keyof typeof columns): string {
    return quoteName(`columns.${field}`, columns[field]);
  }

  /** Returns SQL that appends a field to the JSON unless it is NULL, or '' if it has no column. */
  function member(field: keyof Order): string {
    if (field === 'id' || columns[field] === undefined) return '';
    const serialize = serializers[FIELDS[field].type.name];
    return ` || coalesce(',"${field}":' || ${serialize(`o.${column(field)}`)}, '')`;
  }

  const id = column('id');
  return {
    table: names.map((name) => quoteName('table', name)).join('.'),
    id,
    status: column('status'),
    json: `'{"id":' || ${serializers.id(`o.${id}`)}${FIELD_NAMES.map(member).join('')} || '}'`,
    statuses: readStatuses(statuses),
    // The line ends before the parenthesis, because the query can end with a comment.
    revision: revision && `SELECT (${revision}\n)::text AS revision`,
  };
}

function quoteName(option: string, name: unknown): string {
  if (typeof name !== 'string' || name === '') throw new TypeError(`${option}: expected a name`);
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes a text for SQL, whatever the server's setting `standard_conforming_strings`. */
export function quoteText(text: string): string {
  return ` E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

function readStatuses(statuses: NonNullable<PostgresOrderTable['statuses']>): ReadonlyMap<string, OrderStatus> {
  const statusOfSpelling = new Map<string, OrderStatus>();
  for (const status of ORDER_STATUSES) {
    const spellings = [statuses[status] ?? status].flat();
    if (spellings.length === 0) throw new TypeError(`statuses.${status}: expected at least one string`);
    for (const spelling of spellings) {
      if (typeof spelling !== 'string')
        throw new TypeError(`statuses.${status}: expected a string or an array of strings`);
      const other = statusOfSpelling.get(spelling);
      if (other !== undefined) throw new TypeError(`statuses.${status}: '${spelling}' already stands for ${other}`);
      statusOfSpelling.set(spelling, status);
    }
  }
  return statusOfSpelling;
}

/** Converts an order that {@link OrderTable.json} serialised and `parseJson` parsed. */
export function readOrder(fields: Readonly<Record<string, unknown>>): Order {
  const order: MutableOrder = { id: 0n };
  // SQL has left out the values that are invalid for their field.
  for (const name of FIELD_NAMES) if (fields[name] !== undefined) setField(order, name, fields[name]);
  return order;
}
