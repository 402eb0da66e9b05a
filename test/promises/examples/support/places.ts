import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packInto, run } from '../../../support/outer-environment.js';
import { root } from '../../../support/root.js';
import { temporaryDirectory } from '../../../support/temporary-file.js';
import { pathOf } from './start.js';

/** The commands with which `examples/README.md` prepares a clone, and a project with the package. */
const [forClone = '', forProject = ''] = Array.from(
  readFileSync(pathOf('README.md'), 'utf8').matchAll(/^```sh\n(.*?)^```/gms),
  ([, commands]) => commands,
);

/** Runs lines of a shell in a folder. What npm has in its cache is not downloaded again. */
export function runLines(lines: string, cwd: string): void {
  run('sh', ['-e', '-c', `export npm_config_prefer_offline=true npm_config_audit=false\n${lines}`], cwd);
}

/** Copies what a clone of the project has to a folder. */
export function copyProject(folder: string): void {
  const files = run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], root).split('\0');
  const present = files.filter((file) => file !== '' && existsSync(join(root, file)));
  for (const file of present) cpSync(join(root, file), join(folder, file));
}

/** Creates a folder, fills it, and prepares it for the examples. */
function createPlace(fill: (folder: string) => unknown, commands: string): string {
  const folder = temporaryDirectory();
  fill(folder);
  runLines(commands, folder);
  return folder;
}

/** The places in which every example runs. */
export const places = {
  'a clone': () => createPlace(copyProject, forClone),
  'a project with the package': () => createPlace(packInto, forProject),
} as const;
