import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { issueKey, startServer } from '../support/program.js';
import { openDescriptors, residentMiB } from './support/under-attack.js';

const PATHS = ['/openapi.json', '/docs', '/readyz', '/healthz', '/v1/store/orders'];
const CLIENTS = 100;

test('100 clients that each send 3,000 requests and read nothing are disconnected, and memory stays bounded', async (t) => {
  const cwd = temporaryDirectory();
  // Keeps the heap's young generation small. By default it may have 48 MiB (Node.js 20) or more.
  // It would reach this size only during the attack, so the memory would seem to grow.
  const env = { NODE_OPTIONS: '--max-old-space-size=96 --max-semi-space-size=2' };
  const server = await startServer(t, { cwd, env }, '--no-sample', '--log', 'events');
  const { key } = await issueKey(cwd, 'business');
  assert.equal((await server.get(key)).status, 200);
  const { pid } = server.child;
  const [beforeMiB, descriptors] = [residentMiB(pid), openDescriptors(pid)];

  const { port } = new URL(server.url);
  const sockets = Array.from({ length: CLIENTS }, (_, n) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: `127.0.0.${2 + n}` }).pause();
    return socket.on('error', () => {});
  });
  await until(() => openDescriptors(pid) >= descriptors + CLIENTS);
  // The server is paused until all requests have arrived.
  server.child.kill('SIGSTOP');
  for (const [n, socket] of sockets.entries()) {
    socket.write(`GET ${PATHS[n % PATHS.length]} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(3_000));
  }
  await sleep(200);
  server.child.kill('SIGCONT');
  await until(() => openDescriptors(pid) <= descriptors + 10, 30_000);
  for (const socket of sockets) socket.destroy();
  assert.equal((await server.get(key)).status, 200);
  const afterMiB = residentMiB(pid);
  assert.ok(afterMiB <= beforeMiB + 64, `${beforeMiB} → ${afterMiB} MiB`);
  assert.equal(await server.stop('SIGTERM'), 0);
});
