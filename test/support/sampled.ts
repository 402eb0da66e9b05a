/** Set by `npm test`, which has to end soon. */
export const IS_QUICK = process.env['STORE_ORDERS_QUICK'] === '1';
const SHARE = 5;

/**
 * All rows of a table that needs a process or a server for each row; in the quick run every fifth,
 * from `first` on.
 */
export function sampled<T>(rows: readonly T[], first = 0): readonly T[] {
  return IS_QUICK ? rows.filter((_, index) => index % SHARE === first % SHARE) : rows;
}

/** The number of random runs: `count`; in the quick run a fifth of it. */
export function sampledRuns(count: number): number {
  return IS_QUICK ? count / SHARE : count;
}
