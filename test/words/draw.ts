import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { proseOf, writtenFiles } from './prose.ts';

// Prints 100 comments and 60 messages at random, to be read as a newcomer would. Parameters: a seed
// that repeats an earlier draw, or `-` for a new one, and folders to draw from (default: all).

const root = fileURLToPath(new URL('../..', import.meta.url));
const [seedText = '-', ...folders] = process.argv.slice(2);
const seed = seedText === '-' ? Math.floor(Math.random() * 2 ** 32) : Number(seedText);
/** Matches strings of at least four words. Shorter ones are names and codes. */
const MESSAGE = /^(?=.*[a-z])[^{}<>=;]*?(?:\S+ ){3,}[^{}<>=;]*$/;
const SQL = /\b(?:SELECT|CREATE|INSERT|UPDATE|DELETE FROM|ALTER|PRAGMA|WHERE|FROM)\b/;

let state = seed >>> 0;
/** Returns the next number of a Mulberry32 generator, in [0, 1). */
function random(): number {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

function drawn<T>(all: readonly T[], count: number): readonly T[] {
  const left = [...all];
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(random() * left.length, 1)).flat();
}

const prose = writtenFiles(root)
  .filter(
    (path) => !path.endsWith('.md') && (folders.length === 0 || folders.some((folder) => path.startsWith(folder))),
  )
  .flatMap((path) => proseOf(path, readFileSync(`${root}/${path}`, 'utf8')));
const comments = prose.filter(({ kind, text }) => kind === 'comment' && /\S \S/.test(text));
const messages = prose.filter(({ kind, text }) => kind === 'string' && MESSAGE.test(text) && !SQL.test(text));

console.log(`seed ${seed}: 100 of ${comments.length} comments and 60 of ${messages.length} messages`);
for (const [title, pieces] of [
  ['Comments', drawn(comments, 100)],
  ['Messages', drawn(messages, 60)],
] as const) {
  console.log(`\n${title}`);
  for (const [index, { text, path, line }] of pieces.entries())
    console.log(`${index + 1}. ${text}\n   ${path}:${line}`);
}
