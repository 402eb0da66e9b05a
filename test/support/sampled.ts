/** Whether this is the quick run of `npm test`. */
export const IS_QUICK = process.env['STORE_ORDERS_QUICK'] === '1';
const SHARE = 5;

/**
 * Returns the rows of a test table that are to be tested. These are all rows, but in the quick run
 * only every fifth, beginning at the index `first` modulo 5. Meant for tables where each row starts
 * a process or a server.
 */
export function sampled<T>(rows: readonly T[], first = 0): readonly T[] {
  return IS_QUICK ? rows.filter((_, index) => index % SHARE === first % SHARE) : rows;
}

/** Returns the number of random runs: `count`, or a fifth of it in the quick run. */
export function sampledRuns(count: number): number {
  return IS_QUICK ? count / SHARE : count;
}
