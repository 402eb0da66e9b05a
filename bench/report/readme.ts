import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { draw } from './chart.js';
import { printTable, type Table } from './table.js';

/**
 * The major version of Node.js whose figures are in README.md. Every other major version has a page
 * and charts of its own.
 */
const README_LINE = '20';
const README = new URL('../README.md', import.meta.url);

const [line = ''] = process.versions.node.split('.');
const isOther = line !== README_LINE;
const page = isOther ? new URL(`../node-${line}.md`, import.meta.url) : README;
const charts = isOther ? `charts/node-${line}` : 'charts';

/**
 * Replaces one part of the page, and the charts of this part. Two HTML comments in the page mark
 * where the part begins and ends.
 */
export function publish(part: string, machine: string, tables: readonly Table[]): void {
  const readme = readFileSync(README, 'utf8');
  const [begin, end] = [`<!-- ${part}: written by npm run bench -->`, `<!-- end of ${part} -->`];
  const section =
    readme
      .slice(0, readme.indexOf(begin))
      .split(/^(?=## )/m)
      .at(-1) ?? '';
  // A section may have several parts. Only the first one needs the heading.
  const heading = section.includes('<!-- end of ') ? '' : section;
  let text = existsSync(page) ? readFileSync(page, 'utf8') : INTRODUCTION;
  if (isOther && !text.includes(begin)) text += `\n${heading}${begin}\n\n${end}\n`;
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${page.pathname}: expected ${begin} and ${end}`);
  const tablesAndMachine = [...tables.map(print), machine].join('\n\n');
  writeFileSync(page, `${text.slice(0, from + begin.length)}\n\n${tablesAndMachine}\n\n${text.slice(to)}`);
}

const INTRODUCTION = `# Figures on Node.js ${line}

Measured as described in [README.md](README.md), which has the figures of the oldest supported Node.js.
`;

function print(table: Table): string {
  const { chart } = table;
  if (chart === undefined) return printTable(table);
  const folder = new URL(`../${charts}/`, import.meta.url);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(`${chart.name}.svg`, folder), draw(chart));
  return `${printTable(table)}\n\n![${chart.title}](${charts}/${chart.name}.svg)`;
}
