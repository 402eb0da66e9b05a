import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { root } from './support/root.js';

// Builds the package, because the tests test `dist`, and checks the types of the quick tests. Then runs
// the tests (*.test.ts), the proofs (*.proof.ts), or both, of the given folders or files. At the end,
// prints what was not run and how to run it. This program finds the files itself, because neither
// Node.js 20 nor the shell of Windows knows glob patterns.

const ENDINGS = {
  quick: ['.test.ts'],
  proofs: ['.proof.ts'],
  all: ['.test.ts', '.proof.ts'],
} as const;
/** With more files at the same time, tests might exceed their time limits. */
const MOST_AT_ONCE = 8;

/** A skipped test, as test/skipped-reporter.mjs writes it. */
interface Skipped {
  readonly name: string;
  /** Why the test was skipped, and what to do about it. */
  readonly reason: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { plain: { type: 'boolean', default: false } },
});
const [set = 'quick', ...places] = positionals;
const folders = places.map((place) => place.replaceAll('\\', '/').replace(/^(?:\.\/)?test\//, ''));
if (!isSet(set)) throw new TypeError(`${set}: expected ${Object.keys(ENDINGS).join(', ')}`);

const files = testFiles(ENDINGS[set]);
if (files.length === 0) throw new Error(`there are no tests of this kind in ${folders.join(', ')}`);
const checkTypes = ['node_modules/typescript/bin/tsc', '--project', 'test/tsconfig.quick.json'];
for (const step of [['.ci/build.mjs'], ...(set === 'quick' ? [checkTypes] : [])]) {
  if (spawnSync(process.execPath, step, { cwd: root, stdio: 'inherit' }).status !== 0) process.exit(1);
}
/** For the quick run, see `support/sampled.ts` and `support/rounds.ts`. */
const QUICK = { STORE_ORDERS_QUICK: '1', STORE_ORDERS_ROUNDS: '2' };
const timeLimit = new URL('./time-limit.mjs', import.meta.url).href;
const results = mkdtempSync(join(tmpdir(), 'store-orders-tests-'));
const skipped = join(results, 'skipped.json');
const { status, signal } = spawnSync(
  process.execPath,
  [
    // Coverage doubles the time. Its threshold applies only to a run of all files.
    ...(set === 'all' && !values.plain ? coverage(folders.length === 0) : []),
    // The groups load tsx themselves, because each thread of theirs would load what is named here.
    ...(set === 'quick' ? [] : ['--import', 'tsx']),
    ...['--import', timeLimit],
    ...['--test', `--test-concurrency=${Math.min(availableParallelism() + 1, MOST_AT_ONCE)}`],
    ...[`--test-reporter=${values.plain ? 'dot' : 'spec'}`, '--test-reporter-destination=stdout'],
    ...['--test-reporter=./test/skipped-reporter.mjs', `--test-reporter-destination=${skipped}`],
    ...(set === 'quick' ? groupsOf(files) : files),
  ],
  { cwd: root, env: { ...(set === 'quick' && QUICK), ...process.env }, stdio: 'inherit' },
);
const written = readFileSync(skipped, 'utf8');
// If the run was cut short, the reporter has written nothing.
if (written !== '') console.log(`\n${remainder(JSON.parse(written))}`);
rmSync(results, { recursive: true });
process.exitCode = signal === null ? (status ?? 1) : 1;

function isSet(word: string): word is keyof typeof ENDINGS {
  return word in ENDINGS;
}

function coverage(isWhole: boolean): readonly string[] {
  const measure = createRequire(import.meta.url).resolve('c8/bin/c8.js');
  return [measure, ...(isWhole ? [] : ['--check-coverage=false']), process.execPath];
}

function testFiles(endings: readonly string[]): readonly string[] {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((file) => `test/${file.replaceAll('\\', '/')}`)
    .filter((file) => endings.some((ending) => file.endsWith(ending)) && !file.includes('/node_modules/'))
    .filter((file) => folders.length === 0 || folders.some((folder) => file.startsWith(`test/${folder}`)))
    .sort();
}

/**
 * Returns a module for each folder of `test`, which imports the files below it, so that they share a
 * process: to start one and to load the package takes longer than most files.
 */
function groupsOf(files: readonly string[]): readonly string[] {
  const folderOf = (file: string) => file.split('/')[1];
  const loads = `import { register } from '${import.meta.resolve('tsx/esm/api')}';\nregister();\n`;
  return Array.from(new Set(files.map(folderOf)), (folder) => {
    const group = join(results, `${folder}.test.mjs`);
    const members = files.filter((file) => folderOf(file) === folder);
    const imports = members.map((file) => `await import('${pathToFileURL(join(root, file))}');\n`);
    writeFileSync(group, loads + imports.join(''));
    return group;
  });
}

/** Returns a paragraph: which files were not run, which tests were skipped, and how to run them. */
function remainder(tests: readonly Skipped[]): string {
  const sentences: string[] = [];
  const left = set === 'quick' ? testFiles(['.proof.ts']).length : 0;
  if (left > 0) {
    sentences.push(
      `Not run: ${left} files of slow tests (.proof.ts), which need redis-server, ` +
        'PostgreSQL, strace, Chromium and the packages of test/hosts and of the test/*-tools folders. ' +
        'npm run test:proofs runs those whose tools are installed. Only a fifth of the random inputs and of the rows of some tables was ' +
        'tested, and coverage was not measured. To run everything: npm run test:all',
    );
  }
  for (const reason of new Set(tests.map((test) => test.reason))) {
    const group = tests.filter((test) => test.reason === reason);
    sentences.push(`Skipped: ${group.length === 1 ? group[0]?.name : `${group.length} tests`}: ${reason}`);
  }
  return sentences.length === 0 ? 'Nothing was skipped.' : `${sentences.join('. ')}.`;
}
