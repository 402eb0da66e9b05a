import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Prose, proseOf, writtenFiles } from './prose.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const MOST_COLUMNS = 100;

/**
 * The folders and files whose comments, strings, test names and paragraphs follow the rules below.
 */
const FOLLOWS = [
  'src',
  'bench',
  'examples',
  'test',
  '.ci',
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
];

/** This file is not checked, because its cases contain the phrases below. */
const OWN_CASES = 'test/words/words.test.ts';

/** Phrases that make a sentence hard to read, each with the usual words for it. */
const AVOIDED: readonly (readonly [RegExp, instead: string])[] = [
  [/\bwhoever\b/i, 'a client, a caller, a key'],
  [/\b(?<!those )who (?:has|had|takes|took)\b/i, 'a client that, a caller that'],
  [/\bto who\b/i, 'to clients that'],
  [/\bthat of which\b|\bthose of which\b|\bof what (?:is|was|it)\b/i, 'a noun'],
  [/\banew\b/i, 'again'],
  [/\blikewise\b/i, 'the same'],
  [/\bbesides\b/i, 'also'],
  [/\bthereby\b|\bwhereby\b|\bherewith\b/i, 'so'],
  [/(?:^|[.,;:] )yet\b/i, 'but, still'],
  [/\bat the soonest\b/i, 'no earlier than'],
  [/\bfor an? (?:second|minute|hour) more\b/i, 'for up to another second'],
  [/\bsays? so\b/i, 'reports it'],
  [/(?<!\bthere )\b(?:is|are|was|were) no (?!longer|more|less|fewer|later|earlier|other|one\b)/i, 'is not a'],
  [/(?<!\bthere )\b(?:is|are|was|were) none\b/i, 'is not one'],
  [/\btorso\b/i, 'truncated body'],
];

function complaints(prose: Prose): readonly string[] {
  const { kind, text, path, line, width } = prose;
  const at = `${path}:${line}`;
  const found = AVOIDED.flatMap(([phrase, instead]) => {
    const [words] = phrase.exec(text) ?? [];
    return words === undefined ? [] : [`${at}: "${words.trim()}": write ${instead}`];
  });
  if (kind === 'comment' && /^What\b[^?]*$/.test(text)) found.push(`${at}: begin with a verb or a noun, not "What"`);
  if (width > MOST_COLUMNS) found.push(`${at}: ${width} columns, of at most ${MOST_COLUMNS}`);
  return found;
}

test('comments, strings, test names and Markdown avoid phrases that make a sentence hard to read', () => {
  const found = writtenFiles(root)
    .filter((path) => path !== OWN_CASES && FOLLOWS.some((folder) => path.startsWith(folder)))
    .flatMap((path) => proseOf(path, readFileSync(`${root}/${path}`, 'utf8')))
    .flatMap(complaints);
  assert.equal(found.join('\n'), '');
});

for (const [text, expected] of [
  ["// who takes nothing\nconst a = 'an id is no number';", [1, 2]],
  ['/** One\n * besides\n */\ncall("likewise");', [1, 4]],
  ['const divided = a / b; // anew\nconst found = /"/; // whoever', [1, 2]],
  [`call(\`a \${b({ c: 'd' })}\nanew\`); // There is no such order, who wants one?`, [1]],
  [`// ${'wide '.repeat(20)}\n`, [1]],
  ['// What this is.\nconst a = 1;\n\n// What if it fails?', [1]],
] as const) {
  test(`finds the avoided phrases in ${JSON.stringify(text)}`, () => {
    const found = proseOf('a.ts', text).flatMap(complaints);
    assert.deepEqual(
      found.map((complaint) => Number(complaint.split(':')[1])),
      expected,
    );
  });
}

test('finds the avoided phrases in Markdown, but not in its code blocks', () => {
  const page = '# Head\n\nOne\nthing anew\n\n```sh\necho whoever\n```\n- who has\n| a | whoever |\n';
  const found = proseOf('a.md', page).flatMap(complaints);
  assert.deepEqual(
    found.map((complaint) => complaint.slice(0, 7).replace(/: ?$/, '')),
    ['a.md:3', 'a.md:9', 'a.md:10'],
  );
});
