import type { Chart } from './chart.js';

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The columns that answer the table's question. The page shows them for the oldest Node.js too. */
  readonly headlines: readonly number[];
  readonly chart?: Chart | undefined;
}

export function printTable({ title, head, rows }: Pick<Table, 'title' | 'head' | 'rows'>): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = line(head.map((_, index) => (index === 0 ? '---' : '---:')));
  return [`### ${title}`, '', line(head), rule, ...rows.map(line)].join('\n');
}
