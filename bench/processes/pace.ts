/**
 * With `--quick` everything runs once and briefly, to check that it works. Nothing is published.
 */
export const isQuick = process.argv.includes('--quick') || process.env['STORE_ORDERS_BENCH'] === 'quick';

/** Returns the number of rounds that count: `count`, or 1 with `--quick`. */
export function rounds(count: number): number {
  return isQuick ? 1 : count;
}
