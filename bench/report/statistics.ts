export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/**
 * Divides each value by the value to compare it with (the floor), which was measured in the same
 * round. Values of different rounds are not compared, because the speed of the machine drifts.
 */
function ratios(values: readonly number[], floors: readonly number[]): readonly number[] {
  return values.map((value, round) => value / (floors[round] ?? Number.NaN));
}

/** Returns the median, followed by the least and the greatest value in parentheses. */
export function printSpread(values: readonly number[]): string {
  return `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)})`;
}

export function ratio(values: readonly number[], floors: readonly number[]): string {
  return printSpread(ratios(values, floors));
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
