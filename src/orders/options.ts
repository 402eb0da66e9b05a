import type { PutOptions } from './store.js';

/**
 * Throws a TypeError unless `value` is an object with all required fields and no unknown ones. The
 * message begins with `option`.
 */
export function checkFields(
  option: string,
  value: unknown,
  required: readonly string[],
  optional: readonly string[] = [],
): void {
  const known = [...required, ...optional];
  if (typeof value !== 'object' || value === null) {
    throw new TypeError(`${option}: expected an object with ${known.join(', ')}`);
  }
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`${option}.${unknown}: unknown field; expected one of ${known.join(', ')}`);
  }
  const missing = required.find((name) => Reflect.get(value, name) === undefined);
  if (missing !== undefined) throw new TypeError(`${option}.${missing}: missing`);
}

/**
 * Returns whether `put` may overwrite existing orders. Throws a TypeError that names an unknown or
 * invalid option.
 */
export function isReplacing(options: PutOptions = {}): boolean {
  checkFields('options', options, [], ['replace']);
  const { replace = false } = options;
  if (typeof replace !== 'boolean') throw new TypeError('options.replace: expected true or false');
  return replace;
}
