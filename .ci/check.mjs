// Checks everything but the behaviour: types, style, spelling, the package, its links, and dead code.
// Stops at the first check that fails. `npm run check -- spelling` runs one check. `npm run format` formats
// the code.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';

const CHECKS = {
  build: 'npm run --silent build',
  types: 'tsc --project test',
  bench: 'npm ci --silent --prefix bench && tsc --project bench',
  lint: 'biome check --error-on-warnings .',
  spelling: 'cspell lint --no-progress --quiet .',
  package: 'publint --strict && attw --pack --ignore-rules cjs-resolves-to-esm -- .',
  links: 'node .ci/links.mjs',
  dead: 'knip --config .ci/knip.mjs',
};
const MENDS = { format: 'biome check --write .' };

const here = fileURLToPath(new URL('.', import.meta.url));
// Last, so that the compiler is the project's own.
const PATH = [process.env.PATH, `${here}node_modules/.bin`].join(delimiter);

function run(command) {
  const { status } = spawnSync(command, { shell: true, stdio: 'inherit', env: { ...process.env, PATH } });
  if (status === 0) return;
  console.error(`This command failed: ${command}`);
  process.exit(1);
}

const [only, ...more] = process.argv.slice(2);
const commands = { ...CHECKS, ...MENDS };
if (more.length > 0 || (only !== undefined && !Object.hasOwn(commands, only))) {
  throw new TypeError(`expected one of ${Object.keys(commands).join(', ')}`);
}
if (!existsSync(`${here}node_modules`)) run(`npm ci --silent --prefix "${here}"`);
// The types of some tests and examples are in the packages of test/hosts.
if (!existsSync('node_modules/hono')) run('npm ci --silent --workspaces --include-workspace-root');
for (const command of only === undefined ? Object.values(CHECKS) : [commands[only]]) run(command);
