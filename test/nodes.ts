import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { root } from './support/root.js';

// Runs the tests on other major versions of Node.js. First installs what `npm ci` leaves out:
// Node.js binaries (from the npm registry), the SQLite drivers that do not load on every version of
// Node.js, the other runtimes of the examples, and the oldest promised libsql and TypeScript.

const LINES = [22, 24, 26];
/** With the argument "all", the proofs also run, with few rounds. */
const SET = process.argv[2] === 'all' ? 'all' : 'quick';
const FEW_ROUNDS = '10';
const modules = fileURLToPath(new URL('../.cache/nodes/', import.meta.url));
const { peerDependencies } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
const platformPackage = `node-${process.platform}-${process.arch}`;

mkdirSync(modules, { recursive: true });
writeFileSync(`${modules}/package.json`, JSON.stringify({ private: true }));
run('npm', [
  'install',
  '--prefix',
  modules,
  '--no-save',
  '--ignore-scripts',
  '--no-package-lock',
  ...LINES.map((line) => `node-${line}@npm:${platformPackage}@${line}`),
  'better-sqlite3@13',
  '@photostructure/sqlite@1',
  `libsql-lowest@npm:libsql@${peerDependencies.libsql.replace('^', '')}`,
  'bun@1',
  'deno@2',
  'typescript-oldest@npm:typescript@5.0',
  '@types/node@20',
]);
for (const line of LINES) {
  const node = `${modules}/node_modules/node-${line}/bin/node`;
  run(node, ['--version']);
  run(node, ['--import', 'tsx', 'test/run.ts', '--plain', SET], {
    ...(SET === 'all' && { STORE_ORDERS_ROUNDS: FEW_ROUNDS }),
  });
}

function run(command: string, parameters: readonly string[], variables: NodeJS.ProcessEnv = {}): void {
  const env = { ...variables, ...process.env, STORE_ORDERS_TEST_MODULES: modules };
  const { status, error } = spawnSync(command, parameters, { cwd: root, env, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
