import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { issueKey, startServer } from '../support/program.js';
import { openTo, residentMiB } from './support/under-attack.js';

const PATHS = ['/openapi.json', '/docs', '/readyz', '/healthz', '/v1/store/orders'];

test('100 clients that each send 3,000 requests and read nothing are disconnected, and memory stays bounded', async (t) => {
  const cwd = temporaryDirectory();
  // Keeps the heap's young generation small. By default it may have 48 MiB (Node.js 20) or more.
  // It would reach this size only during the attack, so the memory would seem to grow.
  const env = { NODE_OPTIONS: '--max-old-space-size=96 --max-semi-space-size=2' };
  const server = await startServer(t, { cwd, env }, '--no-sample', '--log', 'events');
  const { key } = await issueKey(cwd, 'business');
  assert.equal((await server.get(key)).status, 200);
  const beforeMiB = residentMiB(server.child.pid);

  const url = new URL(server.url);
  const sockets = Array.from({ length: 100 }, (_, n) => {
    const socket = connect({ port: Number(url.port), host: '127.0.0.1', localAddress: `127.0.0.${2 + n}` }).pause();
    return socket.on('error', () => {});
  });
  await until(() => openTo(url).size === sockets.length);
  // The server is paused until all requests have arrived.
  server.child.kill('SIGSTOP');
  for (const [n, socket] of sockets.entries()) {
    socket.write(`GET ${PATHS[n % PATHS.length]} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(3_000));
  }
  await sleep(200);
  server.child.kill('SIGCONT');
  await until(() => openTo(url).size === 0, 30_000);
  for (const socket of sockets) socket.destroy();
  assert.equal(server.child.exitCode, null);
  assert.equal((await server.get(key)).status, 200);
  const afterMiB = residentMiB(server.child.pid);
  assert.ok(afterMiB <= beforeMiB + 64, `${beforeMiB} → ${afterMiB} MiB`);
  assert.equal(await server.stop('SIGTERM'), 0);
});
