import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { listen } from '../../../dist/program/serve/listen.js';
import { listenOnFreePort } from '../../support/listen.js';
import { onTerminal, programIn, startServer } from '../support/program.js';

test('--port accepts the path of a unix socket, even if a killed server has left the socket there', async (t) => {
  const { cwd, run, failure, output } = programIn();
  const socket = join(cwd, 'shop.sock');
  const silent = await startServer(t, { cwd }, '--port', socket, '--db', 'silent.db');
  assert.doesNotMatch(silent.stderr(), /so_/, 'demo keys are not created on a unix socket');
  await silent.stop('SIGTERM');
  const killed = await startServer(t, { cwd, env: onTerminal('stderr') }, '--port', socket);
  const { time, ...listening } = killed.log()[0] ?? {};
  assert.deepEqual(listening, { level: 'info', event: 'listening', socket, db: 'store-orders.db' });
  assert.match(killed.stderr(), /^ {2}free +so_\w{38}\n/m);
  assert.doesNotMatch(killed.stderr(), /curl|Documentation/);
  const healthcheck = 'healthcheck --ready --port ./shop.sock';
  assert.equal(await output(healthcheck), 'ok\n');

  const second = `serve --db :memory: --port ${socket}`;
  assert.equal(await failure(second), `the unix socket ${socket} is in use; choose another with --port`);

  await killed.stop('SIGKILL');
  assert.ok(existsSync(socket));
  assert.match(await failure(healthcheck), /^\.\/shop\.sock: connect ECONNREFUSED/);
  const again = await startServer(t, { cwd }, '--port', socket, '--max-connections-per-address', '1');
  const client = connect(socket);
  await once(client, 'connect');
  assert.equal(await output(healthcheck), 'ok\n');
  assert.equal(client.readyState, 'open', 'the clients of a socket have no address, and no limit');
  assert.equal(await again.stop('SIGTERM'), 0);
  assert.ok(!existsSync(socket));

  writeFileSync(socket, 'not a socket');
  assert.equal((await run(second)).code, 1);
  assert.equal(readFileSync(socket, 'utf8'), 'not a socket');
  const nowhere = await failure('serve --db :memory: --port ./absent/shop.sock');
  assert.match(nowhere, /^cannot listen on the unix socket \.\/absent\/shop\.sock: .+; check --port$/);
});

test('"healthcheck" asks the server at the address of its settings, reports what an unhealthy server responds, and does not wait for a silent one', async (t) => {
  let isSilent = true;
  const server = createServer((request, response) => {
    if (request.url === '/readyz') response.writeHead(503).end(` ${'x'.repeat(201)}`);
    else if (!isSilent) response.end();
  });
  t.after(() => server.close());
  const port = await listenOnFreePort(server);
  const { json, failure } = programIn({ env: { PORT: `${port}`, HOST: '0.0.0.0' } });
  const url = `http://127.0.0.1:${port}`;
  const [unready, silent] = await Promise.all([failure('healthcheck --ready'), failure('healthcheck')]);
  assert.equal(unready, `${url}/readyz responded with 503: ${'x'.repeat(200)}`);
  assert.equal(silent, `${url}/healthz: no response within 3000 ms`);
  assert.match(await failure('healthcheck --host absent.invalid'), /^http:\/\/absent\.invalid:\d+\/healthz: /);
  isSilent = false;
  assert.deepEqual(await json('healthcheck'), { status: 200 });
  server.close().closeAllConnections();
  assert.equal(
    await failure('healthcheck'),
    `${url}/healthz: connect ECONNREFUSED 127.0.0.1:${port}; check that the server runs at --host and --port`,
  );
});

test('a server keeps running if it cannot accept a connection', async () => {
  const server = createServer();
  await listen(server, { host: '127.0.0.1', port: 0, flag: '--port' });
  assert.ok(server.emit('error', new Error('accept EMFILE')));
  server.close();
});
