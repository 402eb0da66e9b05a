import { readFileSync, writeFileSync } from 'node:fs';
import { draw } from './chart.js';
import { printTable, type Table } from './table.js';

const README = new URL('../README.md', import.meta.url);
/** The figures of each part, by the major version of Node.js that measured them. */
const FIGURES = new URL('../figures.json', import.meta.url);

interface Measured {
  readonly machine: string;
  readonly tables: readonly Table[];
}

type Figures = Record<string, Record<string, Measured>>;

/** Keeps the figures of a part, and writes README.md again. */
export function publish(part: string, machine: string, tables: readonly Table[]): void {
  const figures = readFigures();
  const [major = ''] = process.versions.node.split('.');
  figures[part] = { ...figures[part], [major]: { machine, tables } };
  writeFileSync(FIGURES, `${JSON.stringify(figures, null, 1)}\n`);
  writePage();
}

/**
 * Writes the tables and charts of README.md from the kept figures. Each part shows the figures of
 * the newest Node.js that has measured it, and the headlines of the oldest. Two HTML comments in
 * the page mark where a part begins and ends.
 */
export function writePage(): void {
  let page = readFileSync(README, 'utf8');
  for (const [part, byMajor] of Object.entries(readFigures())) {
    const [begin, end] = [`<!-- ${part}: written by npm run bench -->`, `<!-- end of ${part} -->`];
    const from = page.indexOf(begin);
    const to = page.indexOf(end);
    if (from < 0 || to < from) throw new Error(`${README.pathname}: expected ${begin} and ${end}`);
    page = `${page.slice(0, from + begin.length)}\n\n${printPart(byMajor)}\n\n${page.slice(to)}`;
  }
  writeFileSync(README, page);
}

function readFigures(): Figures {
  return JSON.parse(readFileSync(FIGURES, 'utf8'));
}

function printPart(byMajor: Figures[string]): string {
  const majors = Object.keys(byMajor).sort((a, b) => Number(b) - Number(a));
  const [newest = '', oldest = ''] = [majors[0], majors.at(-1)];
  const { machine = '', tables = [] } = byMajor[newest] ?? {};
  const others = newest === oldest ? [] : byMajor[oldest]?.tables;
  return [...tables.map((table, index) => print(withHeadlines(table, oldest, others?.[index]))), machine].join('\n\n');
}

/** Adds the headline columns of the same table as another Node.js measured it. */
function withHeadlines(table: Table, major: string, other: Table | undefined): Table {
  if (other === undefined) return table;
  return {
    ...table,
    head: [...table.head, ...table.headlines.map((column) => `${table.head[column]}, Node.js ${major}`)],
    rows: table.rows.map((row, index) => [
      ...row,
      ...table.headlines.map((column) => other.rows[index]?.[column] ?? ''),
    ]),
  };
}

function print(table: Table): string {
  const { chart } = table;
  if (chart === undefined) return printTable(table);
  writeFileSync(new URL(`../charts/${chart.name}.svg`, import.meta.url), draw(chart));
  return `${printTable(table)}\n\n![${chart.title}](charts/${chart.name}.svg)`;
}
