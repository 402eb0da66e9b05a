import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { get, IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createMemoryLimiter, createMemoryOrderStore, createPlan, perMinute } from 'store-orders';
import { createOrderServer } from 'store-orders/server';
import { issueKey, programWithOrders, startServer } from '../../program/support/program.js';
import { without } from '../../support/installed.js';
import { freePort, listenOnFreePort } from '../../support/listen.js';
import { startProgram } from '../../support/outer-environment.js';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';

/** Returns a file of `examples/deploy` that listens on another port, in front of other servers. */
function configuration(file: string, listen: string, port: number, servers: readonly number[]): string {
  const text = readFileSync(join(root, 'examples/deploy', file), 'utf8');
  for (const part of [listen, '127.0.0.1:8080']) assert.equal(text.split(part).length, 2, part);
  const [line = ''] = /^ +server 127.0.0.1:8080.*\n|127.0.0.1:8080 (?={)/m.exec(text) ?? [];
  const lines = servers.map((serverPort) => line.replace('127.0.0.1:8080', `127.0.0.1:${serverPort}`));
  return text.replace(line, lines.join('')).replace(listen, listen.replace('80', `${port}`));
}

/** Writes the configuration of an nginx that compresses and caches whatever it may, as many a host does. */
function nginxArguments(folder: string, site: string): readonly string[] {
  const gzip = 'gzip on; gzip_proxied any; gzip_types application/json; access_log off;';
  const cache = `proxy_cache_path ${folder}/cache keys_zone=all:1m; proxy_cache all; proxy_cache_valid 200 1m;`;
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/t;`);
  // Without root, nginx ignores the user.
  const main = `user root; daemon off; pid ${folder}/pid; worker_processes 1; error_log stderr;`;
  writeFileSync(join(folder, 'main.conf'), `${main} events {} http { ${gzip} ${cache} ${places.join(' ')}\n${site}}`);
  return ['-e', 'stderr', '-c', join(folder, 'main.conf')];
}

const PROXIES = {
  nginx: (folder: string, port: number, ...servers: number[]) =>
    nginxArguments(folder, configuration('nginx.conf', 'listen 80;', port, servers)),
  caddy: (folder: string, port: number, ...servers: number[]) => {
    const file = join(folder, 'Caddyfile');
    // Compresses whatever it may, and removes what newer versions then remove from the tags of a request.
    const host = 'encode gzip\n\trequest_header If-None-Match `^("[^"]*)-gzip"$` `$1"`';
    const site = configuration('Caddyfile', ':80 {', port, servers).replace(' {\n', () => ` {\n\t${host}\n`);
    writeFileSync(file, `{\n\tadmin off\n}\n${site}`);
    return ['run', '--config', file, '--adapter', 'caddyfile'];
  },
};

async function startProxy(t: TestContext, program: string, folder: string, given: readonly string[], port: number) {
  const env = { PATH: process.env['PATH'], HOME: folder };
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}`).then(
      () => true,
      () => false,
    );
  const proxy = await startProgram(program, given, isReady, { env });
  const exited = once(proxy, 'exit');
  t.after(() => {
    proxy.kill('SIGTERM');
    return exited;
  });
}

/** Passes connections on to a server, and counts them. */
async function countConnections(t: TestContext, toPort: number) {
  let count = 0;
  const server = createServer((socket) => {
    count++;
    const onward = connect(toPort, '127.0.0.1');
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on('error', () => {});
  });
  t.after(() => server.close());
  return { port: await listenOnFreePort(server), count: () => count };
}

/** Sends a request without `Accept-Encoding`, which fetch cannot. */
async function getWithoutCodings(url: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
  const [response] = await once(get(url, { headers }), 'response');
  assert.ok(response instanceof IncomingMessage);
  response.resume();
  return response;
}

for (const [program, prepare] of Object.entries(PROXIES)) {
  test(`behind ${program} with its file of examples/deploy, every promise of the service holds below a prefix`, {
    skip: without(program),
  }, async (t) => {
    const { cwd } = await programWithOrders(1_000);
    const { key } = await issueKey(cwd, 'pro');
    const server = await startServer(t, { cwd }, '--trust-proxy', '1');
    const counter = await countConnections(t, Number(new URL(server.url).port));
    const folder = temporaryDirectory();
    const port = await freePort();
    await startProxy(t, program, folder, prepare(folder, port, counter.port), port);

    const url = `http://127.0.0.1:${port}/shop/v1/store/orders`;
    const ask = (method: string, path = '', fields: Readonly<Record<string, string>> = {}) =>
      fetch(`${url}${path}`, { method, headers: { Authorization: `Bearer ${key}`, ...fields } });
    const before = counter.count();
    for (const [path, status] of [
      ['/7', 204],
      ['/7', 409],
      ['/9007199254740993', 404],
    ] as const) {
      const response = await ask('DELETE', path);
      assert.equal(response.status, status, path);
      assert.equal(
        response.headers.get('Content-Encoding'),
        null,
        'the service compresses no errors, nor does a proxy',
      );
      await response.text();
    }
    const tags = new Set<string | null>();
    for (const coding of ['identity', 'gzip', 'br']) {
      const direct = await fetch(`${server.url}/store/orders`, {
        headers: { Authorization: `Bearer ${key}`, 'Accept-Encoding': coding },
      });
      const response = await ask('GET', '', { 'Accept-Encoding': coding });
      for (const name of ['ETag', 'Content-Encoding']) {
        assert.equal(response.headers.get(name), direct.headers.get(name), `${coding}: ${name}`);
      }
      const tag = response.headers.get('ETag');
      tags.add(tag);
      const again = await ask('GET', '', { 'Accept-Encoding': coding, 'If-None-Match': `${tag}` });
      assert.deepEqual([again.status, again.headers.get('ETag')], [304, tag], coding);
      const orders: unknown = JSON.parse(await response.text());
      assert.ok(Array.isArray(orders) && orders.length === 1_000, coding);
      await direct.text();
    }
    assert.equal(tags.size, 3);
    const plain = await getWithoutCodings(url, { Authorization: `Bearer ${key}` });
    assert.equal(plain.headers['etag'], [...tags][0], 'a client that names no coding gets the list as it is');
    for (const remaining of ['599', '598', '597']) {
      const spoofed = { Authorization: '', 'X-Forwarded-For': `192.0.2.${remaining.slice(1)}` };
      const { status, headers } = await ask('GET', '', spoofed);
      assert.deepEqual([status, headers.get('X-RateLimit-Remaining')], [401, remaining], 'clients choose no address');
    }
    const addresses = server.log().flatMap(({ clientAddress }) => clientAddress ?? []);
    assert.deepEqual([...new Set(addresses)], ['127.0.0.1']);
    assert.ok(counter.count() - before <= 3, `${counter.count() - before} connections to the server`);
  });
}

test('an nginx that caches every 200 gives no list to a client without a valid key', {
  skip: without('nginx'),
}, async (t) => {
  const { cwd } = await programWithOrders(1_000);
  const { key } = await issueKey(cwd, 'pro');
  const server = await startServer(t, { cwd }, '--trust-proxy', '1');
  const folder = temporaryDirectory();
  const port = await freePort();
  const site = `server { listen 127.0.0.1:${port}; location / { proxy_pass ${new URL(server.url).origin}; } }`;
  await startProxy(t, 'nginx', folder, nginxArguments(folder, site), port);
  for (const [used, status] of [
    [key, 200],
    [key, 200],
    ['wrong', 401],
  ] as const) {
    const headers = { Authorization: `Bearer ${used}` };
    const response = await fetch(`http://127.0.0.1:${port}/v1/store/orders`, { headers });
    assert.equal(response.status, status);
    await response.text();
  }
});

/** Starts a server in this process, at a port that a process before it may have had. */
async function startReplaceable(t: TestContext, port: number) {
  const plan = createPlan({ name: 'plenty', policies: [perMinute(1e9)] });
  const parts = { store: createMemoryOrderStore([{ id: 1 }]), limiter: createMemoryLimiter() };
  const server = createOrderServer({ ...parts, authenticate: () => ({ id: 'client', plan }), trustProxy: 1 });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  t.after(() => server.drain(0));
  return server;
}

for (const [program, prepare] of Object.entries(PROXIES)) {
  test(`behind ${program} with its file of examples/deploy, no request fails while two servers are replaced one by one`, {
    skip: without(program),
  }, async (t) => {
    const ports = [await freePort(), await freePort()];
    const servers = await Promise.all(ports.map((port) => startReplaceable(t, port)));
    const folder = temporaryDirectory();
    const port = await freePort();
    await startProxy(t, program, folder, prepare(folder, port, ...ports), port);
    const statuses: number[] = [];
    let isOver = false;
    async function ask(): Promise<void> {
      const headers = { Authorization: 'Bearer key' };
      while (!isOver) {
        const response = await fetch(`http://127.0.0.1:${port}/shop/v1/store/orders`, { headers });
        await response.text();
        statuses.push(response.status);
      }
    }
    const clients = [ask(), ask(), ask(), ask()];
    async function served(count: number): Promise<void> {
      const goal = statuses.length + count;
      await until(() => statuses.length >= goal);
    }
    for (const [index, serverPort] of ports.entries()) {
      await served(100);
      await servers[index]?.drain();
      await served(20);
      await startReplaceable(t, serverPort);
    }
    await served(100);
    isOver = true;
    await Promise.all(clients);
    assert.deepEqual([...new Set(statuses)], [200]);
  });
}
