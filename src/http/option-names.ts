/**
 * Throws a TypeError that names the first field of `options` that is not in `known`: a mistyped option
 * would silently have its default. `known` is written as `Record<keyof Options, true>`, so that it
 * cannot lack one.
 */
export function refuseUnknownOptions(options: object, known: Readonly<Record<string, true>>): void {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) {
      throw new TypeError(`${name}: unknown option; expected one of ${Object.keys(known).join(', ')}`);
    }
  }
}
