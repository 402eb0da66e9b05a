// Builds `dist`: the program and the library, and the scripts and styles of the documentation page.
// Arguments are passed on to the compiler.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const compile = (...parameters) =>
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...parameters], { stdio: 'inherit' });

rmSync('dist', { recursive: true, force: true });
cpSync('src/server/docs/assets', 'dist/server/docs/assets', { recursive: true });
try {
  compile('--project', 'src/server/docs/browser');
  compile(...process.argv.slice(2));
  chmodSync('dist/server/main.js', 0o755);
} catch ({ status }) {
  // The compiler has already printed the mistakes.
  process.exitCode = status ?? 1;
}
