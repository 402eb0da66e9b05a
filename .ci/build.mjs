// Builds `dist`: the program and the library, and the scripts and styles of the documentation page.
// Arguments are passed on to the compiler. `.cache/built` has the time at which the last successful
// build began, for `prestart.mjs`.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const compile = (...parameters) =>
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...parameters], { stdio: 'inherit' });

const begun = new Date();
rmSync('.cache/built', { force: true });
rmSync('dist', { recursive: true, force: true });
cpSync('src/server/docs/assets', 'dist/server/docs/assets', { recursive: true });
try {
  compile('--project', 'src/server/docs/browser');
  compile(...process.argv.slice(2));
  chmodSync('dist/program/main.js', 0o755);
  mkdirSync('.cache', { recursive: true });
  writeFileSync('.cache/built', '');
  utimesSync('.cache/built', begun, begun);
} catch ({ status }) {
  // The compiler has already printed the mistakes.
  process.exitCode = status ?? 1;
}
