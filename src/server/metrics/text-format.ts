type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** Formats a metric with all of its samples, in the text format 0.0.4 of Prometheus. */
export function printMetric(
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  samples: readonly Sample[] | number,
): string {
  const all = typeof samples === 'number' ? [{ value: samples }] : samples;
  return header(type, name, help) + all.map(({ labels, value }) => line(name, labels, value)).join('');
}

/** Has several bounds, and counts for each of them the values that are not above it. */
export interface Histogram {
  observe(value: number): void;
  /** Returns each bound with the number of values up to it. The last bound is `+Inf`. */
  buckets(): readonly (readonly [bound: string, count: number])[];
  readonly sum: number;
}

/** Creates a histogram with these upper bounds, which must ascend. */
export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = new Float64Array(bounds.length + 1);
  let sum = 0;
  return {
    observe(value) {
      let index = 0;
      while (index < bounds.length && value > (bounds[index] ?? 0)) index++;
      counts[index] = (counts[index] ?? 0) + 1;
      sum += value;
    },
    buckets() {
      let total = 0;
      return Array.from(counts, (count, index) => {
        total += count;
        return [`${bounds[index] ?? '+Inf'}`, total] as const;
      });
    },
    get sum() {
      return sum;
    },
  };
}

export function printHistogram(
  name: string,
  help: string,
  series: Iterable<readonly [labels: Labels, histogram: Histogram]>,
): string {
  let text = header('histogram', name, help);
  for (const [labels, histogram] of series) {
    const buckets = histogram.buckets();
    for (const [le, count] of buckets) text += line(`${name}_bucket`, { ...labels, le }, count);
    text += line(`${name}_sum`, labels, histogram.sum) + line(`${name}_count`, labels, buckets.at(-1)?.[1] ?? 0);
  }
  return text;
}

function header(type: string, name: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function line(name: string, labels: Labels = {}, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeText(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
