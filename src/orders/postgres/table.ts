import { quoteName, quoteTable } from '../../databases/postgres/quote.js';
import type { OrderStatus } from '../cancellation.js';
import type { Order } from '../order.js';

/** Where a host keeps its orders: a table, or a view that can be updated where a table is not as said here. */
export interface PostgresOrderTable {
  /** `orders` or `shop.orders`, as in the catalogue: upper case counts. No name in it may have a dot. */
  readonly table: string;
  /** The names of its columns. A field without one is absent from the list, as it is where its column is NULL. */
  readonly columns: {
    /** An integer column with a unique index. */
    readonly id: string;
    /** Of any type that is written as text: text, an enum, an integer. */
    readonly status: string;
    readonly petId?: string | undefined;
    /** An integer. Beyond ±(2^53 − 1) it is absent. */
    readonly quantity?: string | undefined;
    /** A timestamp, or a text in RFC 3339. A timestamp without time zone, or a date, is taken as UTC. */
    readonly shipDate?: string | undefined;
    readonly complete?: string | undefined;
  };
  /**
   * What stands in the status column where it is not our own word. Of several texts for one status all are read and the
   * first is written. Any other text, or NULL, is a status that can be neither cancelled nor shipped.
   */
  readonly statuses?: Readonly<Partial<Record<KnownStatus, string | readonly string[] | undefined>>> | undefined;
}

type KnownStatus = (typeof KNOWN_STATUSES)[number];

const KNOWN_STATUSES = ['pending', 'shipped', 'cancelled'] as const;

/** The same, checked and in the words of SQL, with `o` for the table. */
export interface OrderTable {
  readonly table: string;
  readonly id: string;
  readonly status: string;
  /** A row as `printOrder` prints it. */
  readonly json: string;
  /** Every text that stands for a known status. */
  readonly statuses: ReadonlyMap<string, OrderStatus>;
}

/** Throws a TypeError that names the option. */
export function readTable({ table, columns, statuses = {} }: PostgresOrderTable): OrderTable {
  function column(field: keyof typeof columns): string {
    return quoteName(`columns.${field}`, columns?.[field] ?? '');
  }

  /** Nothing where there is no column or the value is NULL. */
  function member(field: keyof typeof columns, print: (column: string) => string): string {
    return columns[field] === undefined ? '' : ` || coalesce(',"${field}":' || ${print(`o.${column(field)}`)}, '')`;
  }

  const id = column('id');
  return {
    table: quoteTable('table', table),
    id,
    status: column('status'),
    json: [
      `'{"id":' || o.${id}::int8`,
      member('petId', (value) => `${value}::int8`),
      // As many as an `Order` can say, which is a number.
      member(
        'quantity',
        (value) => `CASE WHEN abs(${value}::numeric) <= ${Number.MAX_SAFE_INTEGER} THEN ${value}::int8 END`,
      ),
      member('shipDate', printDateTime),
      member('complete', (value) => `${value}::boolean::text`),
      " || '}'",
    ].join(''),
    statuses: readStatuses(statuses),
  };
}

/** An order that was printed by {@link OrderTable.json} and read by `parseJson`. */
export function readOrder({ id, petId, quantity, shipDate, complete }: Readonly<Record<string, unknown>>): Order {
  return {
    id: BigInt(String(id)),
    ...(typeof petId === 'bigint' && { petId }),
    ...(typeof quantity === 'bigint' && { quantity: Number(quantity) }),
    ...(typeof shipDate === 'string' && { shipDate }),
    ...(typeof complete === 'boolean' && { complete }),
  };
}

/** RFC 3339 wants a time and its zone, of which the types know one or none. An infinite date is none: NULL. */
function printDateTime(column: string): string {
  const completed = (rest: string) => `to_json(nullif(to_json(${column}) #>> '{}', 'infinity') || '${rest}')::text`;
  return `CASE pg_typeof(${column}) WHEN 'timestamp'::regtype THEN ${completed('Z')}
    WHEN 'date'::regtype THEN ${completed('T00:00:00Z')} ELSE nullif(to_json(${column})::text, '"infinity"') END`;
}

function readStatuses(statuses: NonNullable<PostgresOrderTable['statuses']>): ReadonlyMap<string, OrderStatus> {
  if (typeof statuses !== 'object' || statuses === null) throw new TypeError('statuses: expected an object');
  const known = new Map<string, OrderStatus>();
  for (const status of KNOWN_STATUSES) {
    const texts = [statuses[status] ?? status].flat();
    if (texts.length === 0) throw new TypeError(`statuses.${status}: expected at least one text`);
    for (const text of texts) {
      if (typeof text !== 'string' || text.includes('\0')) throw new TypeError(`statuses.${status}: expected texts`);
      const other = known.get(text);
      if (other !== undefined) throw new TypeError(`statuses.${status}: '${text}' stands for ${other} already`);
      known.set(text, status);
    }
  }
  return known;
}
