// Runs the server, and restarts it whenever a source file changes. The scripts and styles of the
// documentation page are built once before, and are not rebuilt.
import { spawn } from 'node:child_process';
import './build.mjs';

const run = (...parameters) => spawn(process.execPath, parameters, { stdio: 'inherit' });

const children = [
  run('node_modules/typescript/bin/tsc', '--watch', '--preserveWatchOutput'),
  run('--watch', '--watch-preserve-output', 'dist/server/main.js', ...process.argv.slice(2)),
];
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    for (const child of children) child.kill(signal);
  });
}
