// Builds `dist` before `npm start`, unless nothing has changed since the last build began.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

/** Returns whether a file, or anything in a folder, was changed after an instant. */
function isNewer(path, instantMs) {
  const status = statSync(path);
  // A folder is changed when a file in it is added, removed or renamed.
  if (status.mtimeMs > instantMs) return true;
  return status.isDirectory() && readdirSync(path).some((name) => isNewer(`${path}/${name}`, instantMs));
}

const isBuilt = existsSync('dist/program/main.js') && existsSync('.cache/built');
const builtMs = isBuilt ? statSync('.cache/built').mtimeMs : 0;
// The lock file is changed when a new version of the compiler is installed.
const sources = ['src', 'tsconfig.json', 'package.json', 'package-lock.json', '.ci/build.mjs'];
if (sources.some((path) => isNewer(path, builtMs))) await import('./build.mjs');
