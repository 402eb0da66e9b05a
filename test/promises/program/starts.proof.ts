import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { spawnProgram } from '../../program/support/run.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

const SERVERS = 14;

/** Stops the server when it listens. Resolves to `listening`, or to its errors if it ends before. */
async function greeting(server: ChildProcess): Promise<string> {
  let [events, errors, isListening] = ['', '', false];
  server.stderr?.setEncoding('utf8').on('data', (chunk) => (errors += chunk));
  server.stdout?.setEncoding('utf8').on('data', (chunk) => {
    events += chunk;
    if (isListening || !events.includes('"listening"')) return;
    isListening = true;
    server.kill('SIGTERM');
  });
  const [code, signal] = await once(server, 'close');
  return isListening ? 'listening' : `${signal ?? code}: ${errors}`;
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
