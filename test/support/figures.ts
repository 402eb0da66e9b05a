/** Formats durations as `3 / 12 / 40 ms`: the median, the 99th percentile and the slowest. */
export function spread(durationsMs: readonly number[]): string {
  const sorted = durationsMs.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
  return `${[at(0.5), at(0.99), at(1)].map((ms) => ms.toFixed(1)).join(' / ')} ms (median / p99 / slowest)`;
}

export function slowest(durationsMs: readonly number[]): number {
  return durationsMs.reduce((a, b) => Math.max(a, b), 0);
}

export function median(durationsMs: readonly number[]): number {
  return durationsMs.toSorted((a, b) => a - b)[durationsMs.length >> 1] ?? Number.NaN;
}
