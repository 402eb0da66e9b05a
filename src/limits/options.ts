/** The largest integer of a structured field (RFC 9651 §3.3.1). */
export const MAX_PRINTED_INTEGER = 999_999_999_999_999;

/** Throws unless `value` is an object. */
export function anObject(where: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) throw new TypeError(`${where}: expected an object`);
}

/** Throws unless `value` is an object and has only `known` fields. */
export function onlyFields(where: string, value: object, known: readonly string[]): void {
  anObject(where, value);
  const unknown = Object.keys(value).find((field) => !known.includes(field));
  if (unknown !== undefined) throw new TypeError(`${where}: unknown field "${unknown}", known are ${known.join(', ')}`);
}

/** Throws unless `value` is an object that has all `known` fields, as a complete plan does. */
export function allFields(where: string, value: object, known: readonly string[]): void {
  anObject(where, value);
  const fields: Readonly<Record<string, unknown>> = Object(value);
  for (const field of known) {
    if (fields[field] === undefined) throw new TypeError(`${where}: ${field} is missing; use createPlan`);
  }
}

/**
 * Throws unless `value` is a whole number from `min` to `max`. The default of `max` is so small
 * that it can be added to an instant without rounding.
 */
export function wholeNumber(where: string, value: number, min: number, max = MAX_PRINTED_INTEGER): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  const Kind = typeof value === 'number' ? RangeError : TypeError;
  throw new Kind(`${where}: expected a whole number from ${min} to ${max}`);
}

/** Throws unless `value` is one of the `allowed` values. */
export function oneOf(where: string, value: unknown, allowed: readonly unknown[]): void {
  if (!allowed.includes(value)) throw new TypeError(`${where}: expected ${allowed.join(' or ')}`);
}
