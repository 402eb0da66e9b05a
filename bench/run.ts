import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { cancelsDuringBackups } from './backup.js';
import { cancelsInProcess, cancelsOverHttp } from './cancels.js';
import { limiter, limiterMemory } from './limiter.js';
import { loopback } from './loopback.js';
import { respond } from './respond.js';
import { printTable } from './table.js';

const README = new URL('README.md', import.meta.url);
const BEGIN = '<!-- begin of figures, written by npm run bench -->';
const END = '<!-- end of figures -->';

const machine = `Node ${process.version}, ${process.platform} ${process.arch}, ${cpus().length} × ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB.`;
const sections = [machine];
for (const measure of [
  limiter,
  limiterMemory,
  respond,
  loopback,
  cancelsInProcess,
  cancelsOverHttp,
  cancelsDuringBackups,
]) {
  const text = printTable(await measure());
  console.log(`${text}\n`);
  sections.push(text);
}

const page = readFileSync(README, 'utf8');
const before = page.slice(0, page.indexOf(BEGIN) + BEGIN.length);
const after = page.slice(page.indexOf(END));
writeFileSync(README, `${before}\n\n${sections.join('\n\n')}\n\n${after}`);
