/**
 * Checks of options. Each throws a TypeError or RangeError whose message begins with `where`, the
 * name of the option: `policies[0].quota: expected …`.
 */

/** The largest integer of a structured field (RFC 9651 §3.3.1). */
export const MAX_HEADER_INTEGER = 999_999_999_999_999;

/**
 * Throws unless `value` is an object with all `required` fields and no unknown ones. The lists must
 * have every field of the interface, or the compiler names those that are missing.
 */
export function checkFields<T extends object, Name extends keyof T & string>(
  where: string,
  value: T,
  optional: readonly Name[] &
    ([Exclude<keyof T, Name>] extends [never] ? unknown : { missing: Exclude<keyof T, Name> }),
  required: readonly Name[] = [],
): void {
  const known: readonly string[] = [...required, ...optional];
  checkObject(where, value, required, optional);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`${optionPath(where, unknown)}: unknown option; expected one of ${known.join(', ')}`);
  }
  checkPresent(where, value, required);
}

/** Throws unless `value` is an object with all `required` fields. Names all that are missing. */
export function checkPresent(where: string, value: unknown, required: readonly string[]): void {
  checkObject(where, value, required);
  const missing = required.filter((name) => Reflect.get(value, name) === undefined);
  if (missing.length > 0) throw new TypeError(`${optionPath(where, missing.join(', '))}: missing`);
}

/** `what` describes the expected object in the message. */
export function checkMethods(where: string, value: unknown, names: readonly string[], what = 'an object'): void {
  for (const name of names) {
    if (typeof value !== 'object' || value === null || typeof Reflect.get(value, name) !== 'function') {
      throw new TypeError(`${where}: expected ${what} with the method ${name}`);
    }
  }
}

export function checkFunction(where: string, value: unknown): void {
  if (typeof value !== 'function') throw new TypeError(`${where}: expected a function`);
}

export function checkOneOf(where: string, value: unknown, allowed: readonly unknown[]): void {
  if (!allowed.includes(value)) throw new TypeError(`${where}: expected ${allowed.join(' or ')}`);
}

/** The default of `max` is small enough to be added to an instant without rounding. */
export function checkWholeNumber(where: string, value: unknown, min: number, max = MAX_HEADER_INTEGER): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return;
  const Kind = typeof value === 'number' ? RangeError : TypeError;
  throw new Kind(`${where}: expected a whole number from ${min} ${max === MAX_HEADER_INTEGER ? 'up' : `to ${max}`}`);
}

function checkObject(
  where: string,
  value: unknown,
  required: readonly string[],
  optional: readonly string[] = [],
): asserts value is object {
  if (typeof value === 'object' && value !== null) return;
  const fields = [required.join(', '), optional.length > 0 && `some of ${optional.join(', ')}`].filter(Boolean);
  throw new TypeError(`${where}: expected an object with ${fields.join(' and ')}`);
}

/**
 * Returns how a message names a field of `where`. A field of `options` goes by its own name. In
 * `policies[0]`, `quota` is `policies[0].quota`. In `plan free:`, `ban` is `plan free: ban`.
 */
function optionPath(where: string, name: string): string {
  if (where === 'options') return name;
  return where.endsWith(':') ? `${where} ${name}` : `${where}.${name}`;
}

/** The values of options that are left out, as the settings of the program show them. */
export const DEFAULTS = {
  basePath: '/v1',
  addressPerMinute: 600,
  trustProxy: 0,
  maxConnectionsPerAddress: 1_024,
  host: '127.0.0.1',
  port: 8_080,
};

export const SAMPLE_URL = `http://${DEFAULTS.host}:${DEFAULTS.port}`;

/**
 * Matches an empty text, or path segments of characters that need no escaping (RFC 3986 §3.3), not
 * even in HTML, or in the quotes of the documentation's samples: all but ' and &.
 */
export const BASE_PATH = /^(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~!$()*+,;=:@-]+)*$/;

export const BASE_PATH_EXPECTED =
  'expected "" or a path such as "/v1", with a slash before each segment and none after the last';

export function checkBasePath(basePath: unknown): void {
  if (typeof basePath === 'string' && BASE_PATH.test(basePath)) return;
  throw new TypeError(`basePath: ${BASE_PATH_EXPECTED}`);
}

const ORIGIN_AND_PATH = /^(https?:\/\/[A-Za-z0-9.:[\]-]+)(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~-]+)*$/;

/**
 * Returns whether the text is the address of a server: an origin exactly as browsers send it, then
 * perhaps a path without a slash at the end. It needs no escape in a shell or in a program.
 */
export function isPublicUrl(text: string): boolean {
  return isOrigin(ORIGIN_AND_PATH.exec(text)?.[1]);
}

export function checkPublicUrl(publicUrl: unknown): void {
  if (publicUrl === undefined || (typeof publicUrl === 'string' && isPublicUrl(publicUrl))) return;
  throw new TypeError('publicUrl: expected a URL such as "https://shop.example/shop", without a slash at the end');
}

/** Returns whether the text is `*`, or an origin exactly as browsers send it: also `capacitor://localhost`. */
export function isOrigin(text: unknown): text is string {
  if (typeof text !== 'string' || !URL.canParse(text)) return text === '*';
  const { protocol, host } = new URL(text);
  return host !== '' && text === `${protocol}//${host}`;
}
