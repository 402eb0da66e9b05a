import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.js';
import { temporaryFile } from './temporary-file.js';
import { reports, until } from './until.js';

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

/**
 * Starts a server, and waits until it is ready. Fails if it ends before. Until it ends, the message of
 * each wait in vain has what it prints.
 */
export async function startProgram(
  program: string,
  parameters: readonly string[],
  isReady: () => boolean | Promise<boolean>,
  options: SpawnOptions = {},
): Promise<ChildProcess> {
  const log = temporaryFile();
  const file = openSync(log, 'a');
  const child = spawn(program, parameters, { ...options, stdio: ['ignore', file, file] });
  closeSync(file);
  const ended = () => child.exitCode ?? child.signalCode;
  const report = () => `${program} ${parameters.join(' ')} printed:\n${readFileSync(log, 'utf8')}`;
  reports.add(report);
  child.once('exit', () => reports.delete(report));
  try {
    await until(async () => {
      if (ended() !== null) throw new Error(`ended with ${ended()}: ${report()}`);
      return isReady();
    });
    return child;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** Returns the next message of a child process. Fails if the process ends before. */
export async function messageFrom<T>(child: ChildProcess): Promise<T> {
  const over = new AbortController();
  const ended = once(child, 'exit', over).then(([code, signal]) => {
    throw new Error(`${child.spawnargs.join(' ')} ended with ${code ?? signal}`);
  });
  try {
    const [message] = await Promise.race([once(child, 'message', over), ended]);
    return message;
  } finally {
    over.abort();
  }
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
