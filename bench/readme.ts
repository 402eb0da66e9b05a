import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { draw } from './chart.js';
import { printTable, type Table } from './table.js';

const PAGE = new URL('README.md', import.meta.url);
const CHARTS = new URL('charts/', import.meta.url);

/** Replaces what the page says between the two marks of this part, and its charts. */
export function publish(part: string, machine: string, tables: readonly Table[]): void {
  const [begin, end] = [`<!-- ${part}: written by npm run bench -->`, `<!-- end of ${part} -->`];
  const page = readFileSync(PAGE, 'utf8');
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`bench/README.md: expected ${begin} and ${end}`);
  const text = [...tables.map(print), machine].join('\n\n');
  writeFileSync(PAGE, `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`);
}

function print(table: Table): string {
  const { chart } = table;
  if (chart === undefined) return printTable(table);
  mkdirSync(CHARTS, { recursive: true });
  writeFileSync(new URL(`${chart.name}.svg`, CHARTS), draw(chart));
  return `${printTable(table)}\n\n![${chart.title}](charts/${chart.name}.svg)`;
}
