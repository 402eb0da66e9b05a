import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { listenOnFreePort } from '../../support/listen.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { run, startServer } from '../support/program.js';

function statusOf(socketPath: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path, agent: false }, (response) => resolve(response.resume().statusCode))
      .once('error', reject)
      .end();
  });
}

test('--port accepts the path of a unix socket, even if a killed server has left the socket there', async (t) => {
  const cwd = temporaryDirectory();
  const socket = join(cwd, 'shop.sock');
  const silent = await startServer(t, { cwd }, '--port', socket, '--db', 'silent.db');
  assert.doesNotMatch(silent.stderr(), /so_/, 'demo keys are not created on a unix socket');
  await silent.stop('SIGTERM');
  const onTerminal = { NODE_OPTIONS: '--import=data:text/javascript,process.stderr.isTTY=true' };
  const killed = await startServer(t, { cwd, env: onTerminal }, '--port', socket);
  assert.equal(killed.log()[0]?.['socket'], socket);
  assert.match(killed.stderr(), /^ {2}free +so_\w{38}\n/m);
  assert.doesNotMatch(killed.stderr(), /curl|Documentation/);
  assert.equal(await statusOf(socket, '/v1/store/orders'), 401);
  const healthcheck = (...args: string[]) => run(['healthcheck', '--port', './shop.sock', ...args], { cwd });
  assert.deepEqual(await healthcheck('--ready'), { code: 0, stdout: 'ok\n', stderr: '' });

  const second = await run(['--port', socket, '--db', ':memory:'], { cwd });
  assert.equal(second.code, 1);
  assert.equal(second.stderr, `store-orders: the unix socket ${socket} is in use; choose another with --port\n`);

  await killed.stop('SIGKILL');
  assert.ok(existsSync(socket));
  const refused = await healthcheck();
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  assert.match(refused.stderr, /^store-orders: \.\/shop\.sock: connect ECONNREFUSED/);
  const again = await startServer(t, { cwd }, '--port', socket);
  assert.equal(await statusOf(socket, '/healthz'), 200);
  assert.equal(await again.stop('SIGTERM'), 0);
  assert.ok(!existsSync(socket));

  writeFileSync(socket, 'not a socket');
  assert.equal((await run(['--port', socket, '--db', ':memory:'], { cwd })).code, 1);
  assert.equal(readFileSync(socket, 'utf8'), 'not a socket');
});

test('"healthcheck" sends a request to the address in the settings of the server, and fails if no server listens there', async (t) => {
  const cwd = temporaryDirectory();
  const { url, stop } = await startServer(t, { cwd }, '--no-sample', '--db', ':memory:');
  const { port } = new URL(url);
  const env = { PORT: port, HOST: '0.0.0.0' };
  assert.deepEqual(await run(['healthcheck'], { cwd, env }), { code: 0, stdout: 'ok\n', stderr: '' });
  await stop('SIGTERM');
  const { code, stderr } = await run(['healthcheck', '--json'], { cwd, env });
  assert.equal(code, 1);
  assert.match(stderr, /^store-orders: http:\/\/127\.0\.0\.1:\d+\/healthz: connect ECONNREFUSED/);
});

test('"healthcheck" reports what an unhealthy server responds, and does not wait for a silent one', async (t) => {
  const server = createServer((request, response) => {
    if (request.url === '/readyz') response.writeHead(503).end('no database\n');
  });
  t.after(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${await listenOnFreePort(server)}`;
  const options = { cwd: temporaryDirectory(), env: { PORT: new URL(url).port } };
  const [unready, silent] = await Promise.all([
    run(['healthcheck', '--ready'], options),
    run(['healthcheck'], options),
  ]);
  assert.deepEqual([unready.code, silent.code], [1, 1]);
  assert.equal(unready.stderr, `store-orders: ${url}/readyz responded with 503: no database\n`);
  assert.equal(silent.stderr, `store-orders: ${url}/healthz: no response within 3000 ms\n`);
});
