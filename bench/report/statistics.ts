export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/**
 * Returns the ratios of values to floors of the same round, because from round to round a machine
 * drifts by more than the differences to be measured.
 */
function ratios(values: readonly number[], floors: readonly number[]): readonly number[] {
  return values.map((value, round) => value / (floors[round] ?? Number.NaN));
}

/** Prints the median with the least and the greatest value. */
export function printSpread(values: readonly number[]): string {
  return `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)})`;
}

export function ratio(values: readonly number[], floors: readonly number[]): string {
  return printSpread(ratios(values, floors));
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
