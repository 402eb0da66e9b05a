import type { FieldTypeName } from '../fields.js';
import { INT64_MAX, INT64_MIN } from '../order.js';

/** For each type, SQL that serialises a column as JSON, or as NULL to leave out the field. */
export type SerializedTypes = Readonly<Record<FieldTypeName | 'id', (column: string) => string>>;

/** Serialises the columns of the store's own table, which has only values that were checked. */
export const OWN_TYPES: SerializedTypes = {
  id: (column) => column,
  int64: (column) => column,
  'safe-integer': (column) =>
    `CASE WHEN ${column} BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER} THEN ${column} END`,
  'date-time': (column) => `to_json(${column})::text`,
  boolean: (column) => `${column}::text`,
};

/**
 * Serialises the columns of the embedding program's table, whose types and values are not known. A
 * value that its field cannot have is left out.
 */
export const CHECKED_TYPES: SerializedTypes = {
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

/** A day of the calendar, a time and a zone, as in RFC 3339 §5.6. The longest has 64 characters. */
const DATE_TIME = (() => {
  const leapYear = '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
  const day = [
    '(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])',
    '(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)',
    '02-(?:0[1-9]|1[0-9]|2[0-8])',
  ].join('|');
  const minute = '(?:[01][0-9]|2[0-3]):[0-5][0-9]';
  const decimals = '(?:[.][0-9]{1,38})?';
  const time = `(?:${minute}:[0-5][0-9]${decimals}(?:[Zz]|[+-]${minute})|23:59:60${decimals}[Zz])`;
  return `^(?:[0-9]{4}-(?:${day})|${leapYear}-02-29)[Tt]${time}$`;
})();

/**
 * Returns SQL that serialises a column as an RFC 3339 date-time, which has a time and a zone. A
 * `date` gets the time 00:00:00 and the zone UTC. A `timestamp` gets the zone UTC. Any value that
 * is not such a date-time becomes NULL: `infinity`, a year before 1 or after 9999, other text.
 * A regular expression takes 2 to 5 µs, so it checks only text.
 */
function serializeDateTime(column: string): string {
  const text = `(to_json(${column}) #>> '{}')`;
  const isType = (...types: readonly string[]) =>
    `pg_typeof(${column}) IN (${types.map((type) => `'${type}'::regtype`).join(', ')})`;
  return `CASE WHEN CASE WHEN ${isType('timestamptz', 'timestamp', 'date')}
      THEN ${text} LIKE '____-__-__%' AND ${text} NOT LIKE ALL ('{% BC,%+__:__:__,%-__:__:__}') ELSE ${text} ~ '${DATE_TIME}' END
    THEN '"' || ${text} ||
      CASE WHEN ${isType('timestamp')} THEN 'Z' WHEN ${isType('date')} THEN 'T00:00:00Z' ELSE '' END || '"' END`;
}
