import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { listen } from '../../../src/server/process/listen.js';
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
  assert.match(killed.stderr(), new RegExp(`curl --unix-socket "${socket}" -H "Authorization`));
  assert.equal(await statusOf(socket, '/v1/store/orders'), 401);
  const healthcheck = (...args: string[]) => run(['healthcheck', '--port', './shop.sock', ...args], { cwd });
  assert.deepEqual(await healthcheck('--ready'), { code: 0, stdout: 'ok\n', stderr: '' });

  const second = await run(['--port', socket, '--db', ':memory:'], { cwd });
  assert.equal(second.code, 1);
  assert.equal(second.stderr, `store-orders: the unix socket ${socket} is in use; choose another path with --port\n`);

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

/** Creates a socket file at `path` on which no server listens. */
async function leaveSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(`${path}-dead`, resolve));
  renameSync(`${path}-dead`, path);
  await new Promise((resolve) => server.close(resolve));
}

function startOn(port: string) {
  const server = createServer((_, response) => response.end());
  return { server, refusal: listen(server, { host: '127.0.0.1', port, flag: '--port' }) };
}

test('if several servers start together on the socket of a killed server, exactly one listens and can be reached', async () => {
  const cwd = temporaryDirectory();
  const socket = join(cwd, 'shop.sock');
  for (let round = 0; round < 5; round++) {
    await leaveSocket(socket);
    const started = [startOn(socket), startOn(socket), startOn(socket)];
    const refusals = await Promise.all(started.map(({ refusal }) => refusal));
    const inUse = `the unix socket ${socket} is in use; choose another path with --port`;
    assert.deepEqual(refusals.sort(), [inUse, inUse, undefined]);
    assert.equal(await statusOf(socket, '/'), 200);
    for (const { server } of started) server.close();
    assert.deepEqual(readdirSync(cwd), []);
  }
});

test('a server waits for the lock of its socket while another server holds the lock, but takes over an old lock', async () => {
  const cwd = temporaryDirectory();
  const socket = join(cwd, 'shop.sock');
  mkdirSync(`${socket}.lock`);
  const { server, refusal } = startOn(socket);
  await setTimeout(30);
  assert.ok(!server.listening);
  utimesSync(`${socket}.lock`, 0, 0);
  assert.equal(await refusal, undefined);
  assert.deepEqual(readdirSync(cwd), ['shop.sock']);
  server.close();

  writeFileSync(`${socket}.lock`, '');
  utimesSync(`${socket}.lock`, 0, 0);
  const says = `cannot listen on the unix socket ${socket}: cannot lock ${socket}.lock: ENOTDIR`;
  assert.equal(await startOn(socket).refusal, says);
});

test('a port above 65535 is refused', async () => {
  const place = { host: '127.0.0.1', port: 65_536, flag: '--metrics-port' } as const;
  const says = 'port 65536 does not exist; choose a lower one with --metrics-port';
  assert.equal(await listen(createServer(), place), says);
});
