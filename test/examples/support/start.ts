import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { outerEnvironment } from '../../support/outer-environment.js';

export const examples = new URL('../../../examples/', import.meta.url);
export const headers = { Authorization: 'Bearer open-sesame' };

export function pathOf(example: string): string {
  return fileURLToPath(new URL(example, examples));
}

/** Starts an example for one test. Returns the address that it prints. */
export async function serveExample(t: TestContext, file: string, env: object = {}): Promise<string> {
  return serve(t, [process.execPath, '--import', 'tsx', pathOf(file)], { env });
}

/** Starts a server for one test. Returns the address that it prints. */
export async function serve(
  t: TestContext,
  [program = '', ...parameters]: readonly string[],
  { env = {}, cwd }: { readonly env?: object; readonly cwd?: string } = {},
): Promise<string> {
  const child = spawn(program, parameters, {
    cwd,
    env: { ...outerEnvironment(), PORT: '0', ...env },
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
