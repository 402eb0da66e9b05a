import { ORDER_STATUSES, type OrderStatus } from './cancellation.js';
import { INT64_MAX, INT64_MIN, type Order } from './order.js';

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
export interface OrderInput {
  readonly id: bigint | number;
  readonly petId?: bigint | number | undefined;
  readonly quantity?: bigint | number | undefined;
  readonly shipDate?: string | undefined;
  readonly complete?: boolean | undefined;
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
export const ORDER_FIELDS = ['id', 'petId', 'quantity', 'shipDate', 'complete', 'status'] as const;

const FIELDS: ReadonlySet<string> = new Set(ORDER_FIELDS);
/** A limit is needed, because RFC 3339 does not limit the decimals of a second. */
const MAX_DATE_TIME_LENGTH = 64;
const STATUS = /^[a-z][a-z0-9_]{0,63}$/;

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/**
 * Validates a record that may have any word as its status. Does not use a valibot schema, which
 * would take ten times as long (3.1 µs instead of 0.35). An import may have millions of records.
 */
function parseRecord(input: unknown): ParsedRecord {
  if (typeof input !== 'object' || input === null) return { ok: false, message: 'must be an object' };
  const fields: Readonly<Record<string, unknown>> = Object(input);
  const { petId, quantity, shipDate, complete, status = 'pending' } = fields;
  if (!('id' in fields)) return wrong('id', 'is missing');
  const id = readInt64(fields['id']);
  if (typeof id === 'string') return wrong('id', id);
  const record: Mutable<Omit<OrderRecord, 'status'>> = { id };
  if (petId !== undefined) {
    const read = readInt64(petId);
    if (typeof read === 'string') return wrong('petId', read);
    record.petId = read;
  }
  if (quantity !== undefined) {
    const read = readQuantity(quantity);
    if (typeof read === 'string') return wrong('quantity', read);
    record.quantity = read;
  }
  if (shipDate !== undefined) {
    if (typeof shipDate !== 'string') return wrong('shipDate', 'must be a string');
    if (shipDate.length > MAX_DATE_TIME_LENGTH) {
      return wrong('shipDate', `must have at most ${MAX_DATE_TIME_LENGTH} characters`);
    }
    if (!isDateTime(shipDate)) return wrong('shipDate', 'must be an RFC 3339 date-time such as 2026-01-31T12:00:00Z');
    record.shipDate = shipDate;
  }
  if (complete !== undefined) {
    if (typeof complete !== 'boolean') return wrong('complete', 'must be true or false');
    record.complete = complete;
  }
  if (typeof status !== 'string') return wrong('status', 'must be a string');
  if (!STATUS.test(status)) return wrong('status', 'must be a lower-case word such as pending or shipped');
  for (const name in fields) if (!FIELDS.has(name)) return wrong(name, 'is not a field of an order');
  return { ok: true, record: Object.assign(record, { status }) };
}

function wrong(field: string, message: string): ParsedRecord {
  return { ok: false, field, message };
}

/** Returns the exact integer, or what is wrong with the value. */
function readInt64(value: unknown): bigint | string {
  if (Number.isSafeInteger(value)) return BigInt(Number(value));
  if (typeof value !== 'bigint' && typeof value !== 'number') return 'must be an integer';
  // A literal such as 1e400 becomes `Infinity`. The value is then rejected below, as an integer
  // that is too large.
  if (Number.isNaN(value) || (Number.isFinite(value) && !Number.isInteger(value))) return 'must be an integer';
  if (value < INT64_MIN || value > INT64_MAX) return 'must fit into int64, -2^63 to 2^63-1';
  return typeof value === 'bigint' ? value : 'must be a bigint if it is beyond 2^53-1';
}

function readQuantity(value: unknown): number | string {
  if ((typeof value !== 'bigint' && typeof value !== 'number') || Number.isNaN(value)) return 'must be an integer';
  const quantity = Number(value);
  return Number.isSafeInteger(quantity) ? quantity : 'must be an integer between -(2^53-1) and 2^53-1';
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

const DATE_TIME =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$/;

/**
 * Reports whether the text is an RFC 3339 §5.6 date-time on a day that exists. `:60` is a leap
 * second, which is valid only at the end of a day in UTC.
 */
function isDateTime(text: string): boolean {
  if (!DATE_TIME.test(text)) return false;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)];
  const zone = text.length - '+00:00'.length;
  const hasOffset = text[zone] === '+' || text[zone] === '-';
  const [offsetHour, offsetMinute] = hasOffset ? [twoDigits(text, zone + 1), twoDigits(text, zone + 4)] : [0, 0];
  const offset = (offsetHour * 60 + offsetMinute) * (text[zone] === '-' ? -1 : 1);
  return (
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= daysIn(year, month) &&
    hour <= 23 &&
    minute <= 59 &&
    (second <= 59 || (second === 60 && isLastOfDay(hour * 60 + minute - offset))) &&
    offsetHour <= 23 &&
    offsetMinute <= 59
  );
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 0x30) * 10 + text.charCodeAt(at + 1) - 0x30;
}

const MINUTES_OF_DAY = 1_440;

/**
 * Reports whether this is the last minute of a day (23:59). `minute` is the number of minutes since
 * any midnight, and may be negative.
 */
function isLastOfDay(minute: number): boolean {
  return (minute + 1) % MINUTES_OF_DAY === 0;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
