import { DATE_TIME_PATTERN } from './date-time.js';
import { INT64_MAX, INT64_MIN, type Order } from './order.js';

/** What is wrong with a value, as a sentence without its subject, such as `must be an integer`. */
export interface Mistake {
  readonly mistake: string;
}

export type FieldTypeName = 'int64' | 'safe-integer' | 'date-time' | 'boolean';

/** How values of one type are checked and stored. */
interface FieldType<T> {
  readonly name: FieldTypeName;
  readonly sqlType: 'bigint' | 'text' | 'boolean';
  /** The JSON Schema of its values. */
  readonly schema: {
    readonly type: string;
    readonly format?: string;
    readonly minimum?: number;
    readonly maximum?: number;
  };
  /** Checks a value that comes from outside, and converts it to the type of the field. */
  read(value: unknown): T | Mistake;
  fromSqlite(value: bigint | string): T;
}

export interface OrderField<T> {
  /** The name of its column in the stores' own tables. */
  readonly column: string;
  readonly type: FieldType<T>;
  readonly description: string;
  readonly example: string | number | boolean;
}

type Value<Name extends keyof Order> = NonNullable<Order[Name]>;

const INT64: FieldType<bigint> = {
  name: 'int64',
  sqlType: 'bigint',
  // The format implies the bounds. As JSON numbers they would be rounded, because a double prints
  // neither of them with all its digits.
  schema: { type: 'integer', format: 'int64' },
  read: readInt64,
  fromSqlite: BigInt,
};

const SAFE_INTEGER: FieldType<number> = {
  name: 'safe-integer',
  sqlType: 'bigint',
  schema: {
    type: 'integer',
    format: 'int64',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
  },
  read: readSafeInteger,
  fromSqlite: Number,
};

const DATE_TIME: FieldType<string> = {
  name: 'date-time',
  sqlType: 'text',
  schema: { type: 'string', format: 'date-time' },
  read: readDateTime,
  fromSqlite: String,
};

const BOOLEAN: FieldType<boolean> = {
  name: 'boolean',
  sqlType: 'boolean',
  schema: { type: 'boolean' },
  read: (value) => (typeof value === 'boolean' ? value : { mistake: 'must be true or false' }),
  fromSqlite: (value) => value === 1n,
};

/**
 * The fields of an order, in the sequence of the specification (part 2). Records, JSON, the columns
 * of the stores, CSV, tables on the terminal and the OpenAPI document follow from this table.
 */
export const FIELDS: { readonly [Name in keyof Required<Order>]: OrderField<Value<Name>> } = {
  id: {
    column: 'id',
    type: INT64,
    description: 'Unique order identifier. Parse it exactly: it can exceed 2^53.',
    // Above 2^53, but a double can hold it exactly, so every JSON parser reads the example exactly.
    example: 9_007_199_254_740_994,
  },
  petId: { column: 'pet_id', type: INT64, description: 'Identifier of the animal in the order.', example: 108 },
  quantity: { column: 'quantity', type: SAFE_INTEGER, description: 'Number of units ordered.', example: 1 },
  shipDate: {
    column: 'ship_date',
    type: DATE_TIME,
    description: 'Expected or actual ship date, RFC 3339.',
    example: '2030-03-04T16:20:00Z',
  },
  complete: {
    column: 'complete',
    type: BOOLEAN,
    description: 'Whether the order has been fulfilled.',
    example: false,
  },
};

export const FIELD_NAMES: readonly (keyof Order)[] = Object.keys(FIELDS).filter(isFieldName);

export function isFieldName(name: string): name is keyof Order {
  return Object.hasOwn(FIELDS, name);
}

export type MutableOrder = { -readonly [Name in keyof Order]: Order[Name] };

/** Checks a value and sets the field to it. Returns what is wrong with the value, if anything. */
export function setField<Name extends keyof Order>(
  order: MutableOrder,
  name: Name,
  value: unknown,
): Mistake | undefined {
  const result = FIELDS[name].type.read(value);
  if (isMistake(result)) return result;
  order[name] = result;
  return undefined;
}

function isMistake(result: unknown): result is Mistake {
  return typeof result === 'object';
}

function readInt64(value: unknown): bigint | Mistake {
  if (typeof value === 'bigint') {
    return value >= INT64_MIN && value <= INT64_MAX ? value : { mistake: 'must fit into int64, -2^63 to 2^63-1' };
  }
  if (Number.isSafeInteger(value)) return BigInt(Number(value));
  return { mistake: Number.isInteger(value) ? 'must be a bigint if it is beyond 2^53-1' : 'must be an integer' };
}

function readSafeInteger(value: unknown): number | Mistake {
  const integer = typeof value === 'bigint' ? Number(value) : value;
  if (typeof integer === 'number' && Number.isSafeInteger(integer)) return integer;
  return { mistake: 'must be an integer between -(2^53-1) and 2^53-1' };
}

const DATE_TIME_TEXT = new RegExp(DATE_TIME_PATTERN);

function readDateTime(value: unknown): string | Mistake {
  if (typeof value === 'string' && DATE_TIME_TEXT.test(value)) return value;
  return { mistake: 'must be an RFC 3339 date-time such as 2026-01-31T12:00:00Z' };
}
