import type { OrderStatus } from './cancellation.js';
import { FIELD_NAMES, type Mistake, type MutableOrder, setField } from './fields.js';
import type { Order } from './order.js';

/** An order as a store keeps it: with its status, which the API does not return. */
export interface OrderRecord extends Order {
  readonly status: OrderStatus;
}

/**
 * An order as the embedding program passes it in. Its integers are bigints or safe integers. The
 * status defaults to `pending`.
 */
export interface OrderInput extends Omit<Order, 'id' | 'petId' | 'quantity'> {
  readonly id: bigint | number;
  readonly petId?: bigint | number | undefined;
  readonly quantity?: bigint | number | undefined;
  readonly status?: OrderStatus | undefined;
}

/** The first mistake in a record, as a sentence: `field` is its subject. */
export interface RecordMistake extends Mistake {
  /** The name of the field, or `the record` if the value is not an object. */
  readonly field: string;
}

/** The names of a record's fields, in the sequence of the specification. */
export const ORDER_FIELDS: readonly (keyof OrderRecord)[] = [...FIELD_NAMES, 'status'];

const KNOWN_FIELDS: ReadonlySet<string> = new Set(ORDER_FIELDS);
/** Matches the word of a status. */
export const STATUS = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * Returns the record of an order, with the status `pending` if it has none, or the first mistake in
 * it. A field with the value `undefined` counts as absent. With `statuses`, rejects any other status,
 * because a typo would create an order that can be neither cancelled nor shipped. A valibot schema
 * would take several times as long, too long for millions of records.
 */
export function parseOrderRecord(input: unknown, statuses?: readonly string[]): OrderRecord | RecordMistake {
  if (typeof input !== 'object' || input === null) return { field: 'the record', mistake: 'must be an object' };
  const fields: Readonly<Record<string, unknown>> = Object(input);
  if (!('id' in fields)) return { field: 'id', mistake: 'is missing' };
  const order: MutableOrder = { id: 0n };
  for (const name of FIELD_NAMES) {
    const value = fields[name];
    if (value === undefined && name !== 'id') continue;
    const mistake = setField(order, name, value);
    if (mistake !== undefined) return { field: name, ...mistake };
  }
  for (const name in fields) if (!KNOWN_FIELDS.has(name)) return { field: name, mistake: 'is not a field of an order' };
  const { status = 'pending' } = fields;
  if (typeof status !== 'string' || !STATUS.test(status)) {
    return { field: 'status', mistake: 'must be a lower-case word such as pending or shipped' };
  }
  if (statuses !== undefined && !statuses.includes(status)) {
    return { field: 'status', mistake: `must be one of ${statuses.join(', ')}, not ${JSON.stringify(status)}` };
  }
  return Object.assign(order, { status });
}

/**
 * Validates a record that the embedding program passes in. Its status may be any word. Throws a
 * TypeError that names the order and the field.
 */
export function toOrderRecord(input: OrderInput): OrderRecord {
  const parsed = parseOrderRecord(input);
  if (!('mistake' in parsed)) return parsed;
  throw new TypeError(`order ${String(input?.id)}: ${parsed.field} ${parsed.mistake}`);
}

/** Validates orders as {@link toOrderRecord} does. Throws a TypeError. */
export function toOrderRecords(orders: Iterable<OrderInput>): OrderRecord[] {
  if (typeof orders?.[Symbol.iterator] !== 'function') {
    throw new TypeError('orders: expected an array or another iterable of orders');
  }
  return Array.from(orders, toOrderRecord);
}

export function toOrder({ status: _, ...order }: OrderRecord): Order {
  return order;
}
