import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { reports, until } from '../../support/until.js';
import { type Run, type RunOptions, run, runInHost, spawnProgram } from './run.js';

/** The words of a command line, or one text in which spaces separate the words. */
type Words = string | readonly string[];

/** The program with fixed options. Each method runs one command until it exits. */
export interface Program {
  readonly cwd: string;
  run(command: Words, input?: RunOptions['input']): Promise<Run>;
  /** Returns what a command prints that exits with 0. */
  output(command: Words, input?: RunOptions['input']): Promise<string>;
  /** Returns the value that a command prints with `--json`, if it exits with 0. */
  json(command: Words, input?: RunOptions['input']): Promise<unknown>;
  /** Returns the message of a command that exits with 1. */
  failure(command: Words, input?: RunOptions['input']): Promise<string>;
  /** Returns the message of a command that exits with 2. */
  misuse(command: Words, input?: RunOptions['input']): Promise<string>;
}

/** Returns variables that make the program believe that one of its streams is a terminal. */
export function onTerminal(stream: 'stdout' | 'stderr'): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import=data:text/javascript,process.${stream}.isTTY=true` };
}

/** By default, the program runs in a new directory. */
export function programIn(options: Partial<RunOptions> = {}): Program {
  return programBy(run, options);
}

/**
 * The program for tests of what commands do and print. The commands share a process, which may hold
 * a file until it ends. Tests of files, crashes, signals and variables use {@link programIn}.
 */
export function commandsIn(cwd?: string): Program {
  return programBy(runInHost, { ...(cwd !== undefined && { cwd }) });
}

function programBy(runWith: typeof run, { cwd = temporaryDirectory(), ...options }: Partial<RunOptions>): Program {
  const wordsOf = (command: Words) => (typeof command === 'string' ? command.split(' ') : command);
  const runCommand = (command: Words, input: RunOptions['input'] = '') =>
    runWith(wordsOf(command), { ...options, cwd, input });

  async function messageOf(command: Words, input: RunOptions['input'], expectedCode: number): Promise<string> {
    const { code, stdout, stderr } = await runCommand(command, input);
    assert.deepEqual([code, stdout], [expectedCode, ''], `${command}: ${stderr}`);
    return /^store-orders: (.+)\n$/.exec(stderr)?.[1] ?? assert.fail(`${command}: not one line: ${stderr}`);
  }

  async function output(command: Words, input?: RunOptions['input']): Promise<string> {
    const { code, stdout, stderr } = await runCommand(command, input);
    assert.deepEqual([code, stderr], [0, ''], `${command}`);
    return stdout;
  }

  return {
    cwd,
    run: runCommand,
    output,
    json: async (command, input) => JSON.parse(await output([...wordsOf(command), '--json'], input)),
    failure: (command, input) => messageOf(command, input, 1),
    misuse: (command, input) => messageOf(command, input, 2),
  };
}

/** Creates a directory with a database of `count` pending orders, whose ids begin at 1. */
export async function programWithOrders(count: number, program = programIn()): Promise<Program> {
  const lines = Array.from({ length: count }, (_, index) => `{"id":${index + 1},"petId":7,"quantity":1}\n`);
  await program.output('orders import -', lines.join(''));
  return program;
}

/** Makes system calls of the program fail, by strace. If a file is given, only its calls fail. */
export function failingProgram(cwd: string, calls: string, error: string, file?: string, env = {}): Program {
  const path = file === undefined ? [] : ['-P', file];
  const options = ['-f', '-o', '/dev/null', ...path, '-e', `trace=${calls}`, '-e', `inject=${calls}:error=${error}`];
  return programIn({ cwd, env, under: ['strace', ...options] });
}

/** Runs a command with `--json` and returns its parsed output. Fails unless it exits with 0. */
export function answerOf(args: readonly string[], options: RunOptions): Promise<unknown> {
  return programIn(options).json(args, options.input);
}

interface IssuedKey {
  readonly key: string;
  readonly id: string;
}

export async function issueKey(cwd: string, ...plan: readonly string[]): Promise<IssuedKey> {
  const { key, id } = Object(await commandsIn(cwd).json(['keys', 'create', '--plan', ...plan]));
  assert.ok(typeof key === 'string' && typeof id === 'string');
  return { key, id };
}

export interface RunningServer {
  readonly cwd: string;
  readonly url: string;
  readonly child: ChildProcess;
  /** Returns the lines of the server's log so far. */
  log(): readonly Readonly<Record<string, unknown>>[];
  /** Returns the events of the log so far, without those of requests. */
  events(): readonly unknown[];
  stdout(): string;
  stderr(): string;
  get(apiKey: string): Promise<Response>;
  /** Returns the page of the metrics. */
  metrics(): Promise<string>;
  /** Sends the server a signal, and returns its exit code, or the signal that killed it. */
  stop(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

/** How long a server may take to start on a machine whose cores are all busy. */
const START_MS = 60_000;

/** Starts the server on a free port and waits until it listens. By default, it runs in a new directory. */
export async function startServer(
  t: { after(stop: () => unknown): void },
  { cwd = temporaryDirectory(), ...options }: Partial<RunOptions> = {},
  ...args: string[]
): Promise<RunningServer> {
  const port = args.includes('--port') ? [] : ['--port', '0'];
  const child = spawnProgram(['serve', ...port, ...args], { ...options, cwd });
  const exited = once(child, 'exit');
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk) => (printed[name] += chunk));
  }
  const report = () => {
    const lines = printed.stdout.split('\n').filter((line) => !line.includes('"event":"request"'));
    return `store-orders ${args.join(' ')} in ${cwd} printed:\n${lines.join('\n')}${printed.stderr}`;
  };
  reports.add(report);
  t.after(async () => {
    reports.delete(report);
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await exited;
    clearTimeout(late);
  });
  const log = () => (printed.stdout.match(/.+(?=\n)/g) ?? []).map((line) => JSON.parse(line));
  const listening = () => log().find(({ event }) => event === 'listening');
  await until(() => {
    const ended = child.exitCode ?? child.signalCode;
    if (ended !== null) throw new Error(`the server ended with ${ended}: ${printed.stderr}`);
    return listening() !== undefined;
  }, START_MS);
  const url = String(listening()?.url);
  return {
    cwd,
    url,
    child,
    log,
    events: () =>
      log()
        .map(({ event }) => event)
        .filter((event) => event !== 'request'),
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    get: (apiKey) => fetch(`${url}/store/orders`, { headers: { authorization: `Bearer ${apiKey}` } }),
    metrics: async () => (await fetch(String(listening()?.metrics))).text(),
    async stop(signal) {
      child.kill(signal);
      const [code, killedBy] = await exited;
      return code ?? killedBy;
    },
  };
}

/** Sends a request, and returns how many requests the key has left. */
export async function remaining(server: RunningServer, apiKey: string): Promise<string | null> {
  return (await server.get(apiKey)).headers.get('x-ratelimit-remaining');
}
