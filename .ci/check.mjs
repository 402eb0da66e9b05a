// Checks everything but the behaviour: types, style, spelling, the package, and dead code. Stops at
// the first check that fails. `npm run check -- spelling` runs one check.
import { spawnSync } from 'node:child_process';

const CHECKS = {
  build: 'npm run --silent build',
  types: 'npm run --silent typecheck',
  bench: 'npm ci --silent --prefix bench && npx tsc --project bench',
  lint: 'npm run --silent lint',
  spelling: 'npx cspell lint --no-progress --quiet .',
  package: 'npx publint --strict && npx attw --pack --ignore-rules cjs-resolves-to-esm -- .',
  dead: 'npx knip',
};

const [only, ...more] = process.argv.slice(2);
if (more.length > 0 || (only !== undefined && !Object.hasOwn(CHECKS, only))) {
  throw new TypeError(`expected one of ${Object.keys(CHECKS).join(', ')}`);
}
for (const [name, command] of Object.entries(CHECKS)) {
  if (only !== undefined && name !== only) continue;
  const { status } = spawnSync(command, { shell: true, stdio: 'inherit' });
  if (status !== 0) {
    console.error(`The check "${name}" failed: ${command}`);
    process.exit(1);
  }
}
