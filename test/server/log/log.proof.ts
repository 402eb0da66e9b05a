import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onTerminal, startServer } from '../support/program.js';

test('with --json, the log is JSON even on a terminal', async (t) => {
  const server = await startServer(t, { env: onTerminal('stdout') }, '--json');
  assert.equal(server.log()[0]?.['event'], 'listening');
});

test('an unread log does not prevent the server from exiting', { timeout: 60_000 }, async (t) => {
  const server = await startServer(t, {}, '--no-sample');
  server.child.stdout?.pause();
  const headers = { 'X-Request-Id': 'x'.repeat(128) };
  // These lines take twice as much as fits into the pipe and the buffer of this process.
  for (let n = 0; n < 20; n++) {
    await Promise.all(Array.from({ length: 100 }, () => fetch(`${server.url}/store/orders`, { headers })));
  }
  assert.equal(await server.stop('SIGTERM'), 0);
});
