import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { outerEnvironment } from '../../support/outer-environment.js';

export const examples = new URL('../../../examples/', import.meta.url);
export const headers = { Authorization: 'Bearer open-sesame' };

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** Starts an example with the command that the comment at its top shows. */
export function startExample(file: string, [command, ...parameters]: readonly string[], env: object = {}): Child {
  return spawn(command ?? process.execPath, [...parameters, fileURLToPath(new URL(file, examples))], {
    env: { ...outerEnvironment(), PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Starts a server for one test. Returns the address that it prints. */
export async function serveExample(
  t: TestContext,
  file: string,
  command: readonly string[] = [process.execPath, '--import', 'tsx'],
  env: object = {},
): Promise<string> {
  const child = startExample(file, command, env);
  t.after(() => child.kill());
  // Each example prints its address in its own words, to stdout or stderr.
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
