/** With `--quick` everything is done once and shortly, to see that it works; nothing is published. */
export const isQuick = process.argv.includes('--quick') || process.env['STORE_ORDERS_BENCH'] === 'quick';

/** How many rounds count. */
export function rounds(count: number): number {
  return isQuick ? 1 : count;
}
