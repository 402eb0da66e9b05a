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

/**
 * Keeps the figures of a part, and replaces this part of README.md. The page shows the figures of
 * the newest Node.js that has measured the part. One more column has the headline of the oldest.
 * Two HTML comments in the page mark where the part begins and ends.
 */
export function publish(part: string, machine: string, tables: readonly Table[]): void {
  const figures: Figures = JSON.parse(readFileSync(FIGURES, 'utf8'));
  const [major = ''] = process.versions.node.split('.');
  const kept = tables.map(({ chart, ...table }) => (chart === undefined ? table : { ...table, chart }));
  figures[part] = { ...figures[part], [major]: { machine, tables: kept } };
  writeFileSync(FIGURES, `${JSON.stringify(figures, null, 1)}\n`);

  const majors = Object.keys(figures[part]).sort((a, b) => Number(b) - Number(a));
  const [newest = major, oldest = newest] = [majors[0], majors.at(-1)];
  const shown = figures[part][newest];
  const other = newest === oldest ? undefined : figures[part][oldest];
  if (shown === undefined) return;
  const text = [
    ...shown.tables.map((table, index) => print(withColumn(table, oldest, other?.tables[index]))),
    shown.machine,
  ].join('\n\n');
  const readme = readFileSync(README, 'utf8');
  const [begin, end] = [`<!-- ${part}: written by npm run bench -->`, `<!-- end of ${part} -->`];
  const from = readme.indexOf(begin);
  const to = readme.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${README.pathname}: expected ${begin} and ${end}`);
  writeFileSync(README, `${readme.slice(0, from + begin.length)}\n\n${text}\n\n${readme.slice(to)}`);
}

/** Adds the headline column of the same table as another Node.js measured it. */
function withColumn(table: Table, major: string, other: Table | undefined): Table {
  if (other === undefined) return table;
  const { headline = table.head.length - 1 } = table;
  return {
    ...table,
    head: [...table.head, `${table.head[headline]}, Node.js ${major}`],
    rows: table.rows.map((row, index) => [...row, other.rows[index]?.[headline] ?? '']),
  };
}

function print(table: Table): string {
  const { chart } = table;
  if (chart === undefined) return printTable(table);
  writeFileSync(new URL(`../charts/${chart.name}.svg`, import.meta.url), draw(chart));
  return `${printTable(table)}\n\n![${chart.title}](charts/${chart.name}.svg)`;
}
