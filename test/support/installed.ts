import { spawnSync } from 'node:child_process';

/** Returns the reason to skip a test that needs a program, or `false` if the PATH has it. */
export function without(program: string, debianPackages = program): string | false {
  return spawnSync('sh', ['-c', 'command -v "$0"', program]).status !== 0 && reason(debianPackages);
}

function reason(debianPackages: string): string {
  return `not installed (Debian: apt-get install ${debianPackages})`;
}
