/**
 * With `--quick` everything runs once and briefly, to check that it works. Nothing is published.
 */
export const isQuick = process.argv.includes('--quick') || process.env['STORE_ORDERS_BENCH'] === 'quick';

/** Returns how many rounds count. */
export function rounds(count: number): number {
  return isQuick ? 1 : count;
}
