import { DATE_TIME_PATTERN } from '../date-time.js';
import type { FieldTypeName } from '../fields.js';
import { INT64_MAX, INT64_MIN } from '../order.js';

/** For each type, SQL that serialises a column as JSON, or as NULL to leave out the field. */
export type FieldSerializers = Readonly<Record<FieldTypeName | 'id', (column: string) => string>>;

/** Serialises the columns of the store's own table, whose types are known. */
export const OWN_SERIALIZERS: FieldSerializers = {
  id: (column) => column,
  int64: (column) => column,
  'safe-integer': (column) => column,
  'date-time': (column) => `to_json(${column})::text`,
  boolean: (column) => `${column}::text`,
};

/**
 * Serialises the columns of the embedding program's table, whose types and values are not known. A
 * value that is invalid for its field is left out. The SQL must be valid for each type, and a cast to
 * text is the only one that each has.
 */
export const CHECKED_SERIALIZERS: FieldSerializers = {
  // Fails if the id is not an integer. A cast from numeric would round it.
  id: (column) => `trim_scale(${column}::numeric)::text::int8`,
  int64: (column) => serializeInteger(column, INT64_MIN, INT64_MAX),
  'safe-integer': (column) => serializeInteger(column, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  'date-time': serializeDateTime,
  boolean: serializeBoolean,
};

/** Returns SQL that returns the type of a column, or the type under its domain. */
export function typeOf(column: string): string {
  return `pg_typeof(coalesce(${column}, NULL))`;
}

/**
 * Returns SQL that serialises a column as an integer, or as NULL if it is not one in this range. A
 * floating-point number is not exact beyond its own range.
 */
function serializeInteger(column: string, min: bigint | number, max: bigint | number): string {
  const type = typeOf(column);
  const text = `${column}::text`;
  return `CASE
    WHEN ${type} IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
      THEN CASE WHEN ${text}::int8 BETWEEN ${min} AND ${max} THEN ${text} END
    WHEN ${text} ~ '^[+-]?[0-9]+([.][0-9]*)?([eE][+-]?[0-9]{1,3})?$' THEN CASE
      WHEN ${text}::numeric BETWEEN ${min} AND ${max} AND ${text}::numeric % 1 = 0
        AND abs(${text}::numeric) <= CASE ${type} WHEN 'real'::regtype THEN 16777216
          WHEN 'double precision'::regtype THEN ${Number.MAX_SAFE_INTEGER} ELSE ${-INT64_MIN} END
      THEN trim_scale(${text}::numeric)::text END
    END`;
}

/** Returns SQL that serialises a column as a boolean, or as NULL if its value is not one. */
function serializeBoolean(column: string): string {
  const text = `${column}::text`;
  return `CASE WHEN ${text} IN ('true', 'false') THEN ${text}
    WHEN ${text} ~* '^(t|true|y|yes|on|1([.]0*)?)$' THEN 'true'
    WHEN ${text} ~* '^(f|false|n|no|off|0([.]0*)?)$' THEN 'false' END`;
}

/**
 * Returns SQL that serialises a column as an RFC 3339 date-time. A `timestamptz` is converted to
 * UTC. A `date` gets the time 00:00:00 and the zone UTC, and a `timestamp` the zone UTC. Any other
 * value becomes NULL: `infinity`, a year before 1 or after 9999, text in another format.
 */
function serializeDateTime(column: string): string {
  // Unlike a cast to text, this does not depend on the setting DateStyle.
  const json = `(to_json(${column}) #>> '{}')`;
  const text = `CASE ${typeOf(column)} WHEN 'timestamptz'::regtype THEN (to_json(${json}::timestamptz AT TIME ZONE 'UTC') #>> '{}') || 'Z'
      WHEN 'timestamp'::regtype THEN ${json} || 'Z' WHEN 'date'::regtype THEN ${json} || 'T00:00:00Z' ELSE ${json} END`;
  return `(SELECT to_json(value)::text FROM (SELECT ${text} AS value) AS shown WHERE value ~ '${DATE_TIME_PATTERN}')`;
}
