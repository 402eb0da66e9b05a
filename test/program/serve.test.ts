import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { listenOnFreePort } from '../support/listen.js';
import { checkSnapshot } from '../support/snapshot.js';
import { until } from '../support/until.js';
import { change } from './support/change.js';
import { issueKey, onTerminal, programIn, type RunningServer, startServer } from './support/program.js';

test('the first run prints curl commands that list and cancel orders, and keys for three plans; the second run prints nothing', async (t) => {
  const { cwd, json } = programIn();
  const server = await startServer(t, { cwd });
  const keys = server.stderr().match(/so_\w{38}(?=\n)/g) ?? [];
  const [free = ''] = keys;
  const list = await (await server.get(free)).text();
  const printed = keys.reduce((text, key, index) => text.replaceAll(key, `KEY ${index}`), server.stderr());
  const { origin } = new URL(server.url);
  checkSnapshot('first-run.txt', `${printed.replaceAll(origin, 'http://HOST')}${list.replaceAll('},', '},\n')}\n`);
  const headers = { authorization: `Bearer ${free}` };
  const pending = `${server.url}/store/orders/9007199254740993`;
  assert.equal((await fetch(pending, { method: 'DELETE', headers })).status, 204);
  const limits = await Promise.all(keys.map(async (key) => (await server.get(key)).headers.get('x-ratelimit-limit')));
  assert.deepEqual(limits, ['60', '300', '1000']);
  for (const key of keys) assert.ok(!server.stdout().includes(key), 'the log contains no API key');
  assert.equal(await server.stop('SIGINT'), 0);

  const again = await startServer(t, { cwd });
  assert.equal(await again.stop('SIGHUP'), 0);
  assert.equal(again.stderr(), '');
  assert.equal(Object(await json('keys list')).length, 3);
});

test('--no-sample creates an empty database, :memory: creates no file, and an existing file gets no sample orders', async (t) => {
  const empty = await startServer(t, {}, '--no-sample', '--db', 'empty.db', '--log', 'events');
  const { cwd } = empty;
  const { key } = await issueKey(cwd, 'free', '--db', 'empty.db');
  assert.equal(await (await empty.get(key)).text(), '[]');
  assert.equal(
    empty.stderr(),
    'empty.db has no API keys. Create one: store-orders keys create --plan free --db empty.db\n',
  );

  const memory = await startServer(t, { cwd, env: onTerminal('stderr') }, '--db', ':memory:', '--host', '0.0.0.0');
  assert.match(
    memory.stderr(),
    /^Created :memory: with .*curl -H "Authorization: Bearer so_\w{38}" "http:\/\/127\.0\.0\.1:\d+\/v1\/store\/orders"\n.*\/docs\n\n$/s,
  );
  await empty.stop('SIGTERM');
  const events = empty.log().map(({ event }) => event);
  assert.deepEqual(events, ['listening', 'stopping', 'stopped'], '--log events leaves out requests');
  await memory.stop('SIGTERM');
  assert.deepEqual(readdirSync(cwd), ['empty.db', 'empty.db-server'], 'SQLite has removed its write-ahead logs');

  writeFileSync(join(cwd, 'touched.db'), '');
  const touched = await startServer(t, { cwd }, '--db', 'touched.db');
  const advice = 'touched.db has no API keys. Create one: store-orders keys create --plan free --db touched.db\n';
  assert.equal(touched.stderr(), advice);
});

test('the server listens on IPv6, and the printed curl line reaches it', async (t) => {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address));
  if (!addresses.includes('::1')) return t.skip('this machine has no IPv6 address ::1');
  const server = await startServer(t, { env: onTerminal('stderr') }, '--db', ':memory:', '--host', '::');
  assert.match(server.url, /^http:\/\/\[::\]:\d+\/v1$/);
  const [, key = '', url = ''] =
    /Bearer (so_\w{38})" "(http:\/\/\[::1\]:\d+\/v1\/store\/orders)"/.exec(server.stderr()) ?? [];
  assert.equal((await fetch(url, { headers: { authorization: `Bearer ${key}` } })).status, 200);
});

test('the server keeps serving when its log is no longer read', async (t) => {
  const server = await startServer(t);
  server.child.stdout?.destroy();
  for (let i = 0; i < 3; i++) {
    assert.equal((await fetch(`${server.url}/store/orders`)).status, 401);
    await sleep(20);
  }
  assert.equal(await server.stop('SIGTERM'), 0);
});

test('if the server cannot listen, it reports why, exits with 1, and removes only files that it has created', async (t) => {
  const { cwd, failure } = programIn();
  const other = createServer();
  t.after(() => other.close());
  const port = await listenOnFreePort(other);
  assert.equal(
    await failure(`serve --port ${port}`),
    `port ${port} on 127.0.0.1 is in use; choose another with --port`,
  );
  const elsewhere = 'serve --host 192.0.2.1';
  assert.equal(
    await failure(elsewhere),
    'cannot listen on port 8080 on 192.0.2.1: listen EADDRNOTAVAIL: address not available 192.0.2.1:8080; check --host (or HOST) and --port',
  );
  const metrics = await failure(`serve --port ./shop.sock --metrics-port ${port}`);
  assert.equal(metrics, `port ${port} on 127.0.0.1 is in use; choose another with --metrics-port`);
  assert.deepEqual(readdirSync(cwd), []);
  // Another program has written a file with the name of a database in memory.
  writeFileSync(join(cwd, ':memory:'), 'Felis catus');
  assert.match(await failure(`${elsewhere} --db :memory:`), /^cannot listen /);
  assert.deepEqual(readdirSync(cwd), [':memory:']);
});

test('if the lock file cannot be opened or used, the server exits with 1 and leaves no database', async () => {
  const { cwd, failure } = programIn();
  mkdirSync(join(cwd, 'store-orders.db-server'));
  writeFileSync(join(cwd, 'cats.db-server'), 'Felis catus');
  assert.match(await failure('serve --port 0'), /^cannot open \S*store-orders\.db-server: /);
  assert.match(await failure('serve --port 0 --db cats.db'), /^cats\.db-server is damaged: /);
  assert.deepEqual(readdirSync(cwd), ['cats.db-server', 'store-orders.db-server']);
});

test('a server with unreadable saved quotas does not start, and keeps its database', async () => {
  const { cwd, failure } = programIn();
  await issueKey(cwd, 'free');
  change(join(cwd, 'store-orders.db'), "INSERT INTO quotas VALUES ('key_a', '{}')");
  assert.match(await failure('serve --port 0'), /^the saved quotas of key_a are invalid: state.buckets: missing$/);
  assert.ok(readdirSync(cwd).includes('store-orders.db'));
});

test('the log has one JSON object for each request', async (t) => {
  const server = await startServer(t);
  const { key, id: keyId } = await issueKey(server.cwd, 'free');
  const path = '/v1/store/orders/9007199254740993';
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const headers = { authorization: `Bearer ${key}`, 'X-Request-Id': 'from-client', traceparent };
  await fetch(new URL(`${path}?key=1`, server.url), { method: 'DELETE', headers });
  await until(() => server.log().length === 2);
  const { time, durationMs, ...fields } = server.log()[1] ?? {};
  assert.deepEqual([typeof time, typeof durationMs], ['string', 'number']);
  assert.deepEqual(fields, {
    ...{ level: 'info', event: 'request', requestId: 'from-client', traceparent, clientAddress: '127.0.0.1', keyId },
    ...{ method: 'DELETE', path, status: 204, bytes: 0, operation: 'cancelOrder', orderId: '9007199254740993' },
  });
});

test('--public-url is the address in the greeting, the OpenAPI document and the documentation page', async (t) => {
  const publicUrl = 'https://shop.example/shop';
  const server = await startServer(t, {}, '--public-url', publicUrl);
  const greeting = server.stderr();
  assert.match(greeting, /^ {2}curl .* "https:\/\/shop\.example\/shop\/v1\/store\/orders"$/m);
  assert.match(greeting, /^Documentation: https:\/\/shop\.example\/shop\/docs$/m);
  assert.equal(server.log()[0]?.['docs'], `${publicUrl}/docs`);
  const ask = async (path: string) => (await fetch(new URL(path, server.url))).text();
  assert.equal(JSON.parse(await ask('/openapi.json')).servers[0].url, `${publicUrl}/v1`);
  for (const shown of [greeting, await ask('/openapi.json'), await ask('/docs')]) assert.doesNotMatch(shown, /127\.0/);
});

test('requests without a valid key are limited separately for each client address that the trusted proxy reports, under the base path and with CORS', async (t) => {
  const origin = 'https://a.example';
  const options = ['--address-per-minute', '2', '--trust-proxy', '1', '--base-path', '/shop', '--cors-origin', origin];
  const server = await startServer(t, {}, ...options);
  const [key = ''] = server.stderr().match(/so_\w{38}(?=\n)/) ?? [];
  assert.equal((await server.get(key)).status, 200);
  const statusFor = async (address: string) => {
    const headers = { origin, 'x-forwarded-for': `6.6.6.6, ${address}` };
    const response = await fetch(`${server.url}/store/orders`, { headers });
    assert.equal(response.headers.get('access-control-allow-origin'), origin);
    return response.status;
  };
  assert.deepEqual(
    [await statusFor('1.1.1.1'), await statusFor('1.1.1.1'), await statusFor('1.1.1.1')],
    [401, 401, 429],
  );
  assert.equal(await statusFor('1.1.1.2'), 401);
});

test('on SIGTERM the server finishes the request in flight, closes the connection and exits with 0', async (t) => {
  const server = await startServer(t);
  const { key } = await issueKey(server.cwd, 'free');
  const database = openSqliteDatabase(join(server.cwd, 'store-orders.db'));
  t.after(() => database.close());
  const silent = await begin(server);
  database.exec('BEGIN IMMEDIATE');
  const answer = text(
    await begin(server, `DELETE /v1/store/orders/5 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`),
  );
  const exit = server.stop('SIGTERM');
  await once(silent, 'close');
  assert.equal(server.child.exitCode, null, 'the server waits until the order is cancelled');
  database.exec('COMMIT');
  assert.match(await answer, /^HTTP\/1\.1 204 No Content\r\n(?:.+\r\n)*Connection: close\r\n/i);
  assert.equal(await exit, 0);
  assert.equal(server.log().at(-1)?.['event'], 'stopped');
});

test('a second signal ends the server immediately, unless the signal comes right after the first one', async (t) => {
  const server = await startServer(t, {}, '--db', ':memory:', '--no-sample');
  assert.equal(server.stderr(), ':memory: has no API keys.\n');
  // A server that stops waits several seconds for the rest of this request.
  const begun = await begin(server, 'GET / HTTP/1.1\r\n');
  begun.on('error', () => {});
  const exit = server.stop('SIGINT');
  server.child.kill('SIGINT');
  await until(() => server.log().some(({ event }) => event === 'stopping'));
  await sleep(200);
  assert.equal(server.child.exitCode, null);
  server.child.kill('SIGTERM');
  assert.equal(await exit, 'SIGTERM');
});

/** Opens a connection and sends text. Resolves when the server has read the text. */
async function begin({ url }: RunningServer, sent = ''): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(sent);
  // The server reads from all its connections before it can respond to a newer one.
  await fetch(`${url}/store/orders`, { headers: { connection: 'close' } });
  return socket;
}
