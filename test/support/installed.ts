import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.js';

/** The reason to skip a test that needs the packages of `test/hosts`, or `false` if they are installed. */
export const withoutHosts =
  !existsSync(join(root, 'node_modules/hono')) &&
  'the packages of test/hosts are not installed: npm ci --workspaces --include-workspace-root';

/** Returns the reason to skip a test that needs a program, or `false` if the PATH has it. */
export function without(program: string, debianPackages = program): string | false {
  const isMissing = spawnSync('sh', ['-c', 'command -v "$0"', program]).status !== 0;
  return isMissing && `not installed (Debian: apt-get install ${debianPackages})`;
}
