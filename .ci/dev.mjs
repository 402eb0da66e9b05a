// Runs a module, such as the server or a test, with the given parameters of Node.js, and runs it
// again whenever a source file changes. The scripts and styles of the documentation page are built
// once before, and are not rebuilt.
import { execFileSync, spawn } from 'node:child_process';

const run = (...parameters) => spawn(process.execPath, parameters, { stdio: 'inherit' });

execFileSync(process.execPath, ['.ci/build.mjs'], { stdio: 'inherit' });
const children = [
  run('node_modules/typescript/bin/tsc', '--watch', '--preserveWatchOutput'),
  run('--watch', '--watch-preserve-output', ...process.argv.slice(2)),
];
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    for (const child of children) child.kill(signal);
  });
}
