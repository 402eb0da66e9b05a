import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Runs the tests on the other Node lines, and installs beforehand what `npm ci` leaves out: real Node binaries, which
// the npm registry has, and the SQLite drivers that do not load on every Node.

const LINES = [22, 24, 26];
const root = fileURLToPath(new URL('..', import.meta.url));
const modules = fileURLToPath(new URL('../.cache/nodes/', import.meta.url));
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
]);
if (!process.argv.includes('--install-only')) {
  for (const line of LINES) {
    const node = `${modules}/node_modules/node-${line}/bin/node`;
    run(node, ['--version']);
    run(node, ['--import', 'tsx', '--test', '--test-reporter=dot', 'test/*/*.test.ts']);
  }
}

function run(command: string, parameters: readonly string[]): void {
  const env = { ...process.env, STORE_ORDERS_TEST_MODULES: modules };
  const { status, error } = spawnSync(command, parameters, { cwd: root, env, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
