import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../support/root.js';

/** Words that make a reader stop, each with the usual words for it. */
const AVOIDED: readonly (readonly [RegExp, instead: string])[] = [
  [/\b(?:whoever|whomever)\b/i, 'a client, a caller, a key'],
  [/\b(?:that|those) of which\b|\b(?:to|for|of) who\b/i, 'a noun'],
  [/\banew\b/i, 'again'],
  [/\blikewise\b/i, 'the same'],
  [/\b(?:thereby|whereby|herewith)\b/i, 'so'],
  [/\bat the soonest\b/i, 'no earlier than'],
  [/\btorso\b/i, 'truncated body'],
];

function complaints(path: string, text: string): readonly string[] {
  return text.split('\n').flatMap((line, index) =>
    AVOIDED.flatMap(([words, instead]) => {
      const [found] = words.exec(line) ?? [];
      return found === undefined ? [] : [`${path}:${index + 1}: "${found}": write ${instead}`];
    }),
  );
}

/** Returns the paths of the code and Markdown below a folder. */
function textFiles(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return IGNORED.has(entry.name) ? [] : textFiles(path);
    return /\.(?:ts|mjs|md)$/.test(path) ? [path] : [];
  });
}

const IGNORED = new Set(['node_modules', 'dist', 'coverage', 'generated', '.git', '.cache']);

test('code and Markdown avoid words that make a sentence hard to read', () => {
  const own = join('test', 'package', 'words.test.ts');
  const found = textFiles('.')
    .filter((path) => path !== own)
    .flatMap((path) => complaints(path, readFileSync(join(root, path), 'utf8')));
  assert.deepEqual(found, []);
  assert.equal(complaints('a.ts', '// One\n// thereby').length, 1, 'an avoided word is found');
});
