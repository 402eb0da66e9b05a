import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.js';

/**
 * Returns the environment without the variables of this test run. With these, a program started
 * here would write coverage, and its tests would report to this test run.
 */
export function outerEnvironment(): NodeJS.ProcessEnv {
  const { NODE_V8_COVERAGE: _, NODE_TEST_CONTEXT: __, ...environment } = process.env;
  return environment;
}

/** Runs a program to its end, and returns what it prints. Throws if it fails. */
export function run(program: string, parameters: readonly string[], cwd: string): string {
  // With `stdio: 'pipe'` the error of a failed program has what it wrote to stderr.
  return execFileSync(program, parameters, { cwd, env: outerEnvironment(), encoding: 'utf8', stdio: 'pipe' });
}

/** Packs the package into a folder. Returns the path of the tarball. */
export function packInto(folder: string): string {
  return join(folder, run('npm', ['pack', root, '--ignore-scripts', '--silent'], folder).trim());
}

/** Creates a project of this module type, and installs a tarball there. */
export function createProject(folder: string, type: 'commonjs' | 'module', tarball: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type }));
  run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], folder);
}
