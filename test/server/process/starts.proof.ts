import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { spawnProgram } from '../support/program.js';

const SERVERS = 14;

/** Resolves to the server's first line, or to its error if it ends without one. */
async function greeting(server: ChildProcess): Promise<string> {
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    server[name]?.setEncoding('utf8').on('data', (chunk) => (printed[name] += chunk));
  }
  const exited = once(server, 'exit');
  while (server.exitCode === null && !printed.stdout.includes('"listening"')) {
    await Promise.race([exited, once(server.stdout ?? server, 'data')]);
  }
  const text = printed.stdout.includes('"listening"') ? 'listening' : printed.stderr;
  server.kill('SIGTERM');
  await exited;
  return text;
}

test(`${SERVERS} servers that start at the same moment on busy cores all start`, async (t) => {
  const busy = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', 'for (const end = Date.now() + 120_000; Date.now() < end; );']),
  );
  t.after(() => {
    for (const child of busy) child.kill('SIGKILL');
  });
  const servers = Array.from({ length: SERVERS }, () =>
    spawnProgram(['serve', '--port', '0'], { cwd: temporaryDirectory(), under: ['nice', '-n', '10'] }),
  );
  const greetings = await Promise.all(servers.map(greeting));
  assert.deepEqual(greetings, Array(SERVERS).fill('listening'));
});
