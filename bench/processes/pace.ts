/**
 * Whether `--quick` was given. If so, every benchmark runs once and briefly, to check that it
 * works, and no figures are published.
 */
export const isQuick = process.argv.includes('--quick') || process.env['STORE_ORDERS_BENCH'] === 'quick';

/** Returns the number of rounds to measure: `count`, or 1 with `--quick`. */
export function rounds(count: number): number {
  return isQuick ? 1 : count;
}
