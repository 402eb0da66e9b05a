import * as v from 'valibot';
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
 * An order as a host passes it in: ids as bigint or safe number. The status defaults to `pending`.
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
 * without its subject.
 */
export type ParsedRecord =
  | { readonly ok: true; readonly record: OrderRecord }
  | { readonly ok: false; readonly field?: string; readonly message: string };

const integer = v.union([v.bigint(), v.number()], 'must be an integer');

const int64 = v.pipe(
  integer,
  // A literal such as 1e400 becomes an infinite number. It is an integer, but far too large.
  v.check(
    (id) => typeof id === 'bigint' || id % 1 === 0 || Math.abs(id) === Number.POSITIVE_INFINITY,
    'must be an integer',
  ),
  v.check((id) => id >= INT64_MIN && id <= INT64_MAX, 'must fit into int64, -2^63 to 2^63-1'),
  v.check((id) => typeof id === 'bigint' || Number.isSafeInteger(id), 'must be a bigint where it is beyond 2^53-1'),
  v.transform((id: bigint | number) => BigInt(id)),
);

const safeInteger = v.pipe(
  integer,
  v.transform((quantity: bigint | number) => Number(quantity)),
  v.safeInteger('must be an integer between -(2^53-1) and 2^53-1'),
);

/** RFC 3339 does not limit the digits of a second. */
const MAX_DATE_TIME_LENGTH = 64;

const recordSchema = v.strictObject(
  {
    id: int64,
    petId: v.optional(int64),
    quantity: v.optional(safeInteger),
    shipDate: v.optional(
      v.pipe(
        v.string('must be a string'),
        v.maxLength(MAX_DATE_TIME_LENGTH, `must have at most ${MAX_DATE_TIME_LENGTH} characters`),
        v.check(isDateTime, 'must be an RFC 3339 date-time such as 2026-01-31T12:00:00Z'),
      ),
    ),
    complete: v.optional(v.boolean('must be true or false')),
    status: v.optional(
      v.pipe(
        v.string('must be a string'),
        v.regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a lower-case word such as pending or shipped'),
      ),
      'pending',
    ),
  },
  (issue) =>
    issue.expected === 'Object'
      ? 'must be an object'
      : issue.expected === 'never'
        ? 'is not a field of an order'
        : 'is missing',
);

export interface ParseRecordOptions {
  /**
   * The host's own statuses, in addition to `pending`, `shipped` and `cancelled`. Default: none.
   */
  readonly statuses?: readonly string[] | undefined;
}

/**
 * Validates one record from outside. Never throws. A field that is `undefined` is absent from the
 * record. An unknown status is rejected, because a typo would create an order that can be neither
 * cancelled nor shipped.
 */
export function parseOrderRecord(input: unknown, { statuses = [] }: ParseRecordOptions = {}): ParsedRecord {
  const parsed = parseRecord(input);
  if (!parsed.ok) return parsed;
  const { status } = parsed.record;
  const known = [...ORDER_STATUSES, ...statuses];
  if (known.includes(status)) return parsed;
  return { ok: false, field: 'status', message: `must be one of ${known.join(', ')}, not ${JSON.stringify(status)}` };
}

/** Validates a record whose status may be any word. */
function parseRecord(input: unknown): ParsedRecord {
  const result = v.safeParse(recordSchema, input, { abortEarly: true });
  if (!result.success) {
    const [issue] = result.issues;
    const key = issue.path?.[0]?.key;
    return key === undefined
      ? { ok: false, message: issue.message }
      : { ok: false, field: String(key), message: issue.message };
  }
  const { id, petId, quantity, shipDate, complete, status } = result.output;
  return {
    ok: true,
    record: {
      id,
      ...(petId !== undefined && { petId }),
      ...(quantity !== undefined && { quantity }),
      ...(shipDate !== undefined && { shipDate }),
      ...(complete !== undefined && { complete }),
      status,
    },
  };
}

/**
 * Validates a record that the host's own code passes in. Its status may be any word. Throws a
 * TypeError that names the order and the field.
 */
export function toOrderRecord(input: OrderInput): OrderRecord {
  const parsed = parseRecord(input);
  if (parsed.ok) return parsed.record;
  throw new TypeError(`order ${String(input?.id)}: ${parsed.field ?? 'the record'} ${parsed.message}`);
}

/** Returns the record without its status. */
export function toOrder({ status: _, ...order }: OrderRecord): Order {
  return order;
}

const DATE_TIME =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$/;

/**
 * Reports whether the text is an RFC 3339 §5.6 date-time on a day that exists. `:60` is a leap
 * second, which ends a day in UTC.
 */
function isDateTime(text: string): boolean {
  const match = DATE_TIME.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const [offsetHour = 0, offsetMinute = 0] = match.slice(8).map((part) => Number(part ?? 0));
  const offset = (offsetHour * 60 + offsetMinute) * (match[7] === '-' ? -1 : 1);
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

const MINUTES_OF_DAY = 1_440;

/** Reports whether a minute, counted from some midnight, is 23:59. */
function isLastOfDay(minute: number): boolean {
  return (minute + 1) % MINUTES_OF_DAY === 0;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
