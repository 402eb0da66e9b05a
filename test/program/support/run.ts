import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { messageFrom } from '../../support/outer-environment.js';
import { root } from '../../support/root.js';
import { IS_QUICK } from '../../support/sampled.js';

/** The program's main file. */
export const MAIN = join(root, 'dist/program/main.js');

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  /** A command that starts the program, such as `strace` with its options. */
  readonly under?: readonly string[];
  /** The main file. Default: {@link MAIN}. */
  readonly main?: string;
}

export function spawnProgram(args: readonly string[], { cwd, env, under = [], main = MAIN }: RunOptions): ChildProcess {
  // In quick tests, child processes measure no coverage, because it would make each start take a
  // quarter longer.
  const coverage = IS_QUICK ? undefined : process.env['NODE_V8_COVERAGE'];
  const [command = '', ...operands] = [...under, process.execPath, main, ...args];
  return spawn(command, operands, {
    cwd,
    env: { PATH: process.env['PATH'], ...(coverage !== undefined && { NODE_V8_COVERAGE: coverage }), ...env },
  });
}

/** Runs a command until it exits. */
export async function run(args: readonly string[], options: RunOptions): Promise<Run> {
  const child = spawnProgram(args, options);
  child.stdin?.on('error', () => {});
  child.stdin?.end(options.input ?? '');
  const closed = once(child, 'close');
  if (child.stdout === null || child.stderr === null) throw new Error('no pipes');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await closed;
  return { code, stdout, stderr };
}

/** Runs commands, one at a time. Starts with the first. */
let host: ChildProcess | undefined;
let isHostBusy = false;

/**
 * Runs a command in the process of earlier commands, because starting a process takes ten times as
 * long as most commands. A server, or a command beside another, has a process of its own.
 */
export async function runInHost(args: readonly string[], { cwd, input = '' }: RunOptions): Promise<Run> {
  if (isHostBusy || args[0] === 'serve') return run(args, { cwd, input });
  isHostBusy = true;
  host ??= startHost();
  const answered = messageFrom<Run>(host);
  host.ref();
  host.channel?.ref();
  host.send({ args, cwd, env: { PATH: process.env['PATH'] }, input });
  const result = await answered;
  host.unref();
  host.channel?.unref();
  isHostBusy = false;
  return result;
}

function startHost(): ChildProcess {
  const child = fork(new URL('./command-host.mjs', import.meta.url), {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
    serialization: 'advanced',
  });
  process.once('beforeExit', () => {
    child.ref();
    child.disconnect();
  });
  return child;
}
