import { ORDER_STATUSES, type OrderStatus } from './cancellation.js';
import { FIELD_NAMES, type OpenOrder, setField } from './fields.js';
import type { Order } from './order.js';

/**
 * An order as a store keeps it: the fields of the API and the status, which the API does not
 * return.
 */
export interface OrderRecord extends Order {
  readonly status: OrderStatus;
}

/**
 * An order as the embedding program passes it in. Its ids are bigints or safe integers. The status
 * defaults to `pending`.
 */
export interface OrderInput extends Omit<Order, 'id' | 'petId' | 'quantity'> {
  readonly id: bigint | number;
  readonly petId?: bigint | number | undefined;
  readonly quantity?: bigint | number | undefined;
  readonly status?: OrderStatus | undefined;
}

/**
 * `field` is absent if the whole value is wrong, for example not an object. `message` is a sentence
 * without its subject, such as `must be an integer`.
 */
export type ParsedRecord =
  | { readonly ok: true; readonly record: OrderRecord }
  | { readonly ok: false; readonly field?: string; readonly message: string };

export interface ParseRecordOptions {
  /**
   * The embedding program's own statuses, in addition to `pending`, `shipped` and `cancelled`.
   * Default: none.
   */
  readonly statuses?: readonly string[] | undefined;
}

/**
 * Validates one record, for example from a file. Never throws. A field with the value `undefined`
 * counts as absent. An unknown status is rejected, because a typo would create an order that can be
 * neither cancelled nor shipped.
 */
export function parseOrderRecord(input: unknown, { statuses = [] }: ParseRecordOptions = {}): ParsedRecord {
  const parsed = parseRecord(input);
  if (!parsed.ok) return parsed;
  const { status } = parsed.record;
  const own: readonly string[] = ORDER_STATUSES;
  if (own.includes(status) || statuses.includes(status)) return parsed;
  const known = [...own, ...statuses].join(', ');
  return { ok: false, field: 'status', message: `must be one of ${known}, not ${JSON.stringify(status)}` };
}

/** The names of a record's fields, in the sequence of the specification. */
export const ORDER_FIELDS: readonly (keyof OrderRecord)[] = [...FIELD_NAMES, 'status'];

const KNOWN: ReadonlySet<string> = new Set(ORDER_FIELDS);
const STATUS = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * Validates a record that may have any word as its status. Does not use a valibot schema, which
 * would take ten times as long (3.1 µs instead of 0.35). An import may have millions of records.
 */
function parseRecord(input: unknown): ParsedRecord {
  if (typeof input !== 'object' || input === null) return { ok: false, message: 'must be an object' };
  const fields: Readonly<Record<string, unknown>> = Object(input);
  if (!('id' in fields)) return wrong('id', 'is missing');
  const record: OpenOrder = { id: 0n };
  for (const name of FIELD_NAMES) {
    const value = fields[name];
    if (value === undefined && name !== 'id') continue;
    const mistake = setField(record, name, value);
    if (mistake !== undefined) return wrong(name, mistake.mistake);
  }
  const { status = 'pending' } = fields;
  if (typeof status !== 'string') return wrong('status', 'must be a string');
  if (!STATUS.test(status)) return wrong('status', 'must be a lower-case word such as pending or shipped');
  for (const name in fields) if (!KNOWN.has(name)) return wrong(name, 'is not a field of an order');
  return { ok: true, record: Object.assign(record, { status }) };
}

function wrong(field: string, message: string): ParsedRecord {
  return { ok: false, field, message };
}

/**
 * Validates a record that the embedding program passes in. Its status may be any word. Throws a
 * TypeError that names the order and the field.
 */
export function toOrderRecord(input: OrderInput): OrderRecord {
  const parsed = parseRecord(input);
  if (parsed.ok) return parsed.record;
  throw new TypeError(`order ${String(input?.id)}: ${parsed.field ?? 'the record'} ${parsed.message}`);
}

/**
 * Validates orders that the embedding program passes in, as {@link toOrderRecord} does. Throws a
 * TypeError.
 */
export function toOrderRecords(orders: Iterable<OrderInput>): OrderRecord[] {
  if (typeof orders?.[Symbol.iterator] !== 'function') {
    throw new TypeError('orders: expected an array or another iterable of orders');
  }
  return Array.from(orders, toOrderRecord);
}

/** Returns the record without its status. */
export function toOrder({ status: _, ...order }: OrderRecord): Order {
  return order;
}
