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
 * value that is invalid for its field is left out.
 */
export const CHECKED_SERIALIZERS: FieldSerializers = {
  // Fails if the id is not an integer. A cast from numeric would round it.
  id: (column) => `trim_scale(${column}::numeric)::text::int8`,
  int64: (column) => serializeInteger(column, INT64_MIN, INT64_MAX),
  'safe-integer': (column) => serializeInteger(column, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  'date-time': serializeDateTime,
  boolean: (column) => `${column}::boolean::text`,
};

/** Returns SQL that serialises a column as an integer, or as NULL if it is not one in this range. */
function serializeInteger(column: string, min: bigint | number, max: bigint | number): string {
  return `CASE WHEN ${column}::numeric BETWEEN ${min} AND ${max} AND ${column}::numeric % 1 = 0 THEN ${column}::int8 END`;
}

/**
 * Returns SQL that serialises a column as an RFC 3339 date-time. A `date` gets the time 00:00:00
 * and the zone UTC, and a `timestamp` the zone UTC. Any other value becomes NULL: `infinity`, a
 * year before 1 or after 9999, text in another format.
 */
function serializeDateTime(column: string): string {
  const zone = `CASE pg_typeof(${column}) WHEN 'timestamp'::regtype THEN 'Z' WHEN 'date'::regtype THEN 'T00:00:00Z' ELSE '' END`;
  const text = `(to_json(${column}) #>> '{}') || ${zone}`;
  return `CASE WHEN ${text} ~ '${DATE_TIME_PATTERN}' THEN to_json(${text})::text END`;
}
