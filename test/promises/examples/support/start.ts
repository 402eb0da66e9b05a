import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { outerEnvironment } from '../../../support/outer-environment.js';
import { root } from '../../../support/root.js';

export const examples = new URL('../../../../examples/', import.meta.url);
export const headers = { Authorization: 'Bearer open-sesame' };

export function pathOf(example: string): string {
  return fileURLToPath(new URL(example, examples));
}

/** Returns the command in the first lines of an example that runs it, or `undefined` if there is none. */
export function commandOf(example: string): string | undefined {
  const [, comment = ''] = /^\/\*\*\n(.*?)\*\//s.exec(readFileSync(pathOf(example), 'utf8')) ?? [];
  return comment
    .split('\n')
    .find((line) => line.startsWith(' *     ') && line.includes(`examples/${example}`))
    ?.slice(7);
}

interface Place {
  readonly cwd?: string;
  /** Variables for the command. They replace those that it sets. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Starts an example for one test by its own command, on a free port. Returns the address that it prints. */
export async function serveExample(t: TestContext, file: string, { cwd = root, variables = {} }: Place = {}) {
  let command = commandOf(file)?.replace('--port 3000', '--port 0') ?? '';
  for (const [name, value] of Object.entries(variables)) {
    command = `${name}='${value}' ${command.replace(new RegExp(`\\b${name}=\\S+ ?`), '')}`;
  }
  return serve(t, ['sh', '-c', `exec env ${command}`], { cwd });
}

/** Starts a server for one test. Returns the address that it prints. */
export async function serve(
  t: TestContext,
  [program = '', ...parameters]: readonly string[],
  { cwd }: { readonly cwd?: string } = {},
): Promise<string> {
  const child = spawn(program, parameters, {
    cwd,
    env: { ...outerEnvironment(), PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  t.after(() => {
    child.kill();
    return exited;
  });
  // Each server prints its address in its own words, to stdout or stderr.
  let printed = '';
  return new Promise((resolve, reject) => {
    const read = (piece: Buffer) => {
      printed += piece;
      const port = /port: (\d+)|(?:127\.0\.0\.1|localhost):(\d+)/.exec(printed)?.slice(1).find(Boolean);
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.stdout.once('end', () => reject(new Error(printed)));
  });
}
