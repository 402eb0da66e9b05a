// Follows every relative link in the texts of the package, and every relative import of its
// examples, because a reader of the package has no other files. Also checks the size of the package.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const MOST_BYTES = 400_000;

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { encoding: 'utf8' });
const [{ files, size }] = JSON.parse(packed);
const paths = new Set(files.map(({ path }) => path));
const folders = new Set([...paths].map((path) => posix.dirname(path)));

/** The links of a Markdown text, without its code. */
function linksOf(text) {
  const prose = text.replaceAll(/^ *```.*?^ *```/gms, '').replaceAll(/`[^`\n]*`/g, '');
  const pattern = /\]\(([^)\s]+)[^)]*\)|^\[[^\]]+\]: +(\S+)|\b(?:href|src)="([^"]+)"/gm;
  return [...prose.matchAll(pattern)].map((match) => match.slice(1).find((link) => link !== undefined));
}

/** The anchors of a Markdown text: its headings in lower case, with dashes between the words. */
function anchorsOf(text) {
  const headings = [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/^#+ +(.+?) *$/gm)];
  return headings.map(([, words]) =>
    words
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function mistakeOf(page, link) {
  const [path, anchor] = link.split('#');
  const target = path === '' ? page : posix.join(posix.dirname(page), path);
  if (!paths.has(target) && !folders.has(target)) return 'is not in the package';
  if (anchor === undefined) return undefined;
  return anchorsOf(readFileSync(target, 'utf8')).includes(anchor) ? undefined : 'has no such heading';
}

const links = [...paths].flatMap((page) => {
  const isText = page.endsWith('.md');
  if (!isText && !page.startsWith('examples/')) return [];
  const text = readFileSync(page, 'utf8');
  const imports = [...text.matchAll(/\bfrom '(\.[^']+)'/g)].map(([, path]) => path);
  return (isText ? linksOf(text) : imports).filter((link) => !/^[a-z]+:/.test(link)).map((link) => ({ page, link }));
});
const mistakes = links.flatMap(({ page, link }) => {
  const mistake = mistakeOf(page, link);
  return mistake === undefined ? [] : [`${page}: "${link}" ${mistake}`];
});
if (size > MOST_BYTES) mistakes.push(`the package has ${size} bytes, more than ${MOST_BYTES}`);
for (const mistake of mistakes) console.error(mistake);
if (mistakes.length > 0) process.exit(1);
console.log(`${links.length} links of the package lead to its files; it has ${Math.ceil(size / 1000)} kB`);
