import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { listenOnFreePort } from '../../support/listen.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { answerOf, issueKey, run, startServer } from '../support/program.js';

/** Makes the program believe that its stderr is a terminal. */
const ON_TERMINAL = { NODE_OPTIONS: '--import=data:text/javascript,process.stderr.isTTY=true' };

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

test('the first run prints curl commands that list and cancel orders, and keys for three plans; the second run prints nothing', async (t) => {
  const cwd = temporaryDirectory();
  const server = await startServer(t, { cwd });
  // The test sends these requests itself, because curl is not installed everywhere. The quotes are
  // double because cmd.exe has no other quotes.
  const CURL_LINE = /^ {2}curl (?:-i -X (\w+) )?-H "Authorization: (Bearer so_\w{38})" "(http:[^" ]+)"$/gm;
  const lines = [...server.stderr().matchAll(CURL_LINE)];
  const [listed, cancelled] = await Promise.all(
    lines.map(([, method = 'GET', authorization = '', url = '']) => fetch(url, { method, headers: { authorization } })),
  );
  assert.deepEqual([lines.length, listed?.status, cancelled?.status], [2, 200, 204]);
  const list = (await listed?.text()) ?? '';
  assert.equal(JSON.parse(list).length, 10);
  assert.match(list, /"id":9007199254740993,/);

  const keys = server.stderr().match(/so_\w{38}(?=\n)/g) ?? [];
  const limits = await Promise.all(keys.map(async (key) => (await server.get(key)).headers.get('x-ratelimit-limit')));
  assert.deepEqual(limits, ['60', '300', '1000']);
  for (const key of keys) assert.ok(!server.stdout().includes(key), 'the log contains no API key');
  assert.equal(await server.stop('SIGINT'), 0);

  const again = await startServer(t, { cwd });
  await again.stop('SIGTERM');
  assert.equal(again.stderr(), '');
  assert.equal(Object(await answerOf(['keys', 'list'], { cwd })).length, 3);
});

test('--no-sample creates an empty database, :memory: creates no file, and an existing file gets no sample orders', async (t) => {
  const cwd = temporaryDirectory();
  const empty = await startServer(t, { cwd }, '--no-sample', '--db', 'empty.db');
  const { key } = await issueKey(cwd, 'free', '--db', 'empty.db');
  assert.equal(await (await empty.get(key)).text(), '[]');
  assert.equal(
    empty.stderr(),
    'empty.db has no API keys. Create one: store-orders keys create --plan free --db empty.db\n',
  );

  const memory = await startServer(t, { cwd, env: ON_TERMINAL }, '--db', ':memory:', '--host', '0.0.0.0');
  assert.match(
    memory.stderr(),
    /^Created :memory: with .*curl -H "Authorization: Bearer so_\w{38}" "http:\/\/127\.0\.0\.1:\d+\/v1\/store\/orders"\n.*\/docs\n\n$/s,
  );
  await empty.stop('SIGTERM');
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
  const options = { cwd: temporaryDirectory(), env: ON_TERMINAL };
  const server = await startServer(t, options, '--db', ':memory:', '--host', '::');
  assert.match(server.url, /^http:\/\/\[::\]:\d+\/v1$/);
  const [, key = '', url = ''] =
    /Bearer (so_\w{38})" "(http:\/\/\[::1\]:\d+\/v1\/store\/orders)"/.exec(server.stderr()) ?? [];
  assert.equal((await fetch(url, { headers: { authorization: `Bearer ${key}` } })).status, 200);
});

test('the server keeps serving when its log is no longer read', async (t) => {
  const server = await startServer(t, { cwd: temporaryDirectory() });
  server.child.stdout?.destroy();
  for (let i = 0; i < 3; i++) {
    assert.equal((await fetch(`${server.url}/store/orders`)).status, 401);
    await sleep(20);
  }
  assert.equal(await server.stop('SIGTERM'), 0);
});

test('a server with :memory: that cannot listen keeps a file of that name, which another program has written', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, ':memory:'), 'Felis catus');
  assert.equal((await run(['--db', ':memory:', '--host', '192.0.2.1'], { cwd })).code, 1);
  assert.deepEqual(readdirSync(cwd), [':memory:']);
});

test('if the server cannot listen, it reports why, exits with 1, and leaves no database behind', async (t) => {
  const cwd = temporaryDirectory();
  const other = createServer();
  t.after(() => other.close());
  const port = `${await listenOnFreePort(other)}`;
  assert.deepEqual(await run(['--port', port], { cwd }), {
    code: 1,
    stdout: '',
    stderr: `store-orders: port ${port} on 127.0.0.1 is in use; choose another with --port\n`,
  });
  const elsewhere = await run(['--host', '192.0.2.1'], { cwd });
  assert.deepEqual(
    [elsewhere.code, elsewhere.stderr],
    [
      1,
      'store-orders: cannot listen on port 8080 on 192.0.2.1: listen EADDRNOTAVAIL: address not available 192.0.2.1:8080; check --host and --port\n',
    ],
  );
  assert.deepEqual(readdirSync(cwd), []);
});

test('a server with unreadable saved quotas does not start, and exits with 1', async () => {
  const cwd = temporaryDirectory();
  await issueKey(cwd, 'free');
  const database = openSqliteDatabase(join(cwd, 'store-orders.db'));
  database.exec("INSERT INTO quotas VALUES ('key_a', '{}')");
  database.close();
  const { code, stderr } = await run(['--port', '0'], { cwd });
  assert.equal(code, 1);
  assert.match(stderr, /^store-orders: the saved quotas of key_a are invalid: [^\n]+\n$/);
  assert.ok(readdirSync(cwd).includes('store-orders.db'));
});

test('the log has one JSON object for each request, with the reason if the request failed', async (t) => {
  const cwd = temporaryDirectory();
  const server = await startServer(t, { cwd });
  const { key, id } = await issueKey(cwd, 'free');
  const listed = await server.get(key);
  await fetch(`${server.url}/store/orders/9007199254740993`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${key}` },
  });
  const hostile = { headers: { 'X-Request-Id': 'from-client', traceparent: TRACEPARENT } };
  const refused = await fetch(new URL(`/%22\u00e9"?key=1`, server.url), hostile);
  const database = openSqliteDatabase(join(cwd, 'store-orders.db'));
  t.after(() => database.close());
  database.exec('PRAGMA busy_timeout = 5000');
  database.exec('ALTER TABLE orders RENAME TO gone; UPDATE orders_revision SET revision = revision + 1');
  // The server notices a change by another process after at most 100 ms.
  await sleep(100);
  const failed = await server.get(key);
  await until(() => server.log().length === 5);
  const [, list, cancel, stranger, failure] = server.log();
  assert.ok(typeof list?.['durationMs'] === 'number' && typeof list['time'] === 'string');
  assert.equal(new Set(server.log().map(({ requestId }) => requestId)).size, 5, 'each request has its own id');
  const known = ({ time, durationMs, requestId, error, ...fields }: Readonly<Record<string, unknown>> = {}) => fields;
  const common = { level: 'info', event: 'request', clientAddress: '127.0.0.1' };
  const path = '/v1/store/orders';
  assert.deepEqual(known(list), {
    ...common,
    method: 'GET',
    path,
    status: 200,
    bytes: Buffer.byteLength(await listed.text()),
    operation: 'listOrders',
    keyId: id,
  });
  assert.deepEqual(known(cancel), {
    ...common,
    method: 'DELETE',
    path: `${path}/9007199254740993`,
    status: 204,
    bytes: 0,
    operation: 'cancelOrder',
    orderId: '9007199254740993',
    keyId: id,
  });
  assert.equal(stranger?.['requestId'], 'from-client');
  assert.deepEqual(known(stranger), {
    ...common,
    traceparent: TRACEPARENT,
    method: 'GET',
    path: '/%22%C3%A9%22',
    status: 401,
    bytes: (await refused.text()).length,
    code: 'missing_api_key',
  });
  assert.deepEqual(known(failure), {
    ...common,
    level: 'error',
    method: 'GET',
    path,
    status: 503,
    bytes: (await failed.text()).length,
    operation: 'listOrders',
    code: 'service_unavailable',
    keyId: id,
  });
  assert.match(String(failure?.['error']), /no such table/);
});

test('requests without a valid key are limited separately for each client address that the trusted proxy reports', async (t) => {
  const server = await startServer(t, { cwd: temporaryDirectory() }, '--address-per-minute', '2', '--trust-proxy', '1');
  const statusFor = async (address: string) =>
    (await fetch(`${server.url}/store/orders`, { headers: { 'x-forwarded-for': `6.6.6.6, ${address}` } })).status;
  assert.deepEqual(
    [await statusFor('1.1.1.1'), await statusFor('1.1.1.1'), await statusFor('1.1.1.1')],
    [401, 401, 429],
  );
  assert.equal(await statusFor('1.1.1.2'), 401);
});

async function underLock(t: Parameters<typeof startServer>[0]) {
  const cwd = temporaryDirectory();
  const server = await startServer(t, { cwd });
  const { key } = await issueKey(cwd, 'free');
  const { hostname, port } = new URL(server.url);
  const database = openSqliteDatabase(join(cwd, 'store-orders.db'));
  t.after(() => database.close());
  database.exec('BEGIN IMMEDIATE');
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(`DELETE /v1/store/orders/5 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await sleep(100);
  return { server, database, socket };
}

test('on SIGTERM the server finishes the request in flight, closes the connection and exits with 0', async (t) => {
  const { server, database, socket } = await underLock(t);
  const silent = connect(Number(new URL(server.url).port), '127.0.0.1');
  await once(silent, 'connect');
  const exit = server.stop('SIGTERM');
  await once(silent, 'close');
  assert.equal(server.child.exitCode, null, 'the server waits until the order is cancelled');
  database.exec('COMMIT');
  const answer = await text(socket);
  assert.match(answer, /^HTTP\/1\.1 204 No Content\r\n/);
  assert.match(answer, /\r\nConnection: close\r\n/i);
  assert.equal(await exit, 0);
  assert.equal(server.log().at(-1)?.['event'], 'stopped');
});

test('a second signal ends the server immediately, unless the signal comes right after the first one', async (t) => {
  const { server } = await underLock(t);
  // This request is never completed. The server would wait for it much longer than for the cancel,
  // which only waits for the database lock.
  const begun = connect(Number(new URL(server.url).port), '127.0.0.1');
  begun.on('error', () => {});
  await new Promise<void>((resolve) => begun.write('GET / HTTP/1.1\r\n', () => resolve()));
  const exit = server.stop('SIGINT');
  server.child.kill('SIGINT');
  await until(() => server.log().some(({ event }) => event === 'stopping'));
  await sleep(200);
  assert.equal(server.child.exitCode, null);
  server.child.kill('SIGTERM');
  assert.equal(await exit, 'SIGTERM');
});

test('if the lock file cannot be opened, the server prints one sentence, exits with 1 and leaves no database', async () => {
  const cwd = temporaryDirectory();
  mkdirSync(join(cwd, 'store-orders.db-server'));
  const { code, stdout, stderr } = await run(['serve', '--port', '0'], { cwd });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^store-orders: cannot open \S*store-orders\.db-server: [^\n]+\n$/);
  assert.deepEqual(readdirSync(cwd), ['store-orders.db-server']);
});

test('--log events leaves out the lines of requests', async (t) => {
  const server = await startServer(t, { cwd: temporaryDirectory() }, '--log', 'events');
  await fetch(`${server.url}/store/orders`);
  await server.stop('SIGTERM');
  assert.deepEqual(
    server.log().map(({ event }) => event),
    ['listening', 'stopping', 'stopped'],
  );
});
