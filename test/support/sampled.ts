/** Set by `npm test`, which has to finish quickly. */
export const IS_QUICK = process.env['STORE_ORDERS_QUICK'] === '1';
const SHARE = 5;

/**
 * Returns all rows of a table that needs a process or a server for each row. In the quick run,
 * returns every fifth row. `first` chooses which of the first five rows is among them.
 */
export function sampled<T>(rows: readonly T[], first = 0): readonly T[] {
  return IS_QUICK ? rows.filter((_, index) => index % SHARE === first % SHARE) : rows;
}

/** Returns the number of random runs: `count`, or a fifth of it in the quick run. */
export function sampledRuns(count: number): number {
  return IS_QUICK ? count / SHARE : count;
}
