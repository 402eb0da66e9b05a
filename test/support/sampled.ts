/** Whether this is the quick run of `npm test`. */
export const IS_QUICK = process.env['STORE_ORDERS_QUICK'] === '1';
const SHARE = 5;

/**
 * Returns all rows of a test table or, in the quick run, every fifth row from the index `first % 5`
 * on. Meant for tables where each row starts a process or a server.
 */
export function sampled<T>(rows: readonly T[], first = 0): readonly T[] {
  return IS_QUICK ? rows.filter((_, index) => index % SHARE === first % SHARE) : rows;
}

/** Returns the number of random inputs to test: `count` or, in the quick run, a fifth of it. */
export function sampledRuns(count: number): number {
  return IS_QUICK ? count / SHARE : count;
}
