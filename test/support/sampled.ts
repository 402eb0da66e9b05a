/** Set by `npm test`, which has to end soon. */
const IS_QUICK = process.env['STORE_ORDERS_QUICK'] === '1';
const DISTANCE = 5;

/**
 * All rows of a table each of which takes a process or a server of its own; in the quick run every fifth, from `first`
 * on.
 */
export function sampled<T>(rows: readonly T[], first = 0): readonly T[] {
  return IS_QUICK ? rows.filter((_, index) => index % DISTANCE === first % DISTANCE) : rows;
}
