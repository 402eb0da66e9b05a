/** Throws a TypeError that names the option, unless the option is an object with these methods. */
export function checkMethods(option: string, part: unknown, names: readonly string[]): void {
  for (const name of names) {
    if (typeof part !== 'object' || part === null || typeof Reflect.get(part, name) !== 'function') {
      throw new TypeError(`${option}: expected an object with the method ${name}`);
    }
  }
}

/** Throws a TypeError that names the option, unless the option is a function. */
export function checkFunction(option: string, part: unknown): void {
  if (typeof part !== 'function') throw new TypeError(`${option}: expected a function`);
}

/** Throws a TypeError that names the first unknown option. */
export function checkOptions(options: unknown, names: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`options: expected an object with ${names.join(', ')}`);
  }
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) throw new TypeError(`${name}: unknown option; expected one of ${names.join(', ')}`);
  }
}
