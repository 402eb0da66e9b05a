import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { test } from 'node:test';
import { nodeHandler } from 'store-orders/handler';
import { attached, expectRefusal, GARBAGE } from '../../http/mounts/support/attached.js';
import { serve } from '../../http/mounts/support/servers.js';
import { CHUNKED, get, lines } from '../../http/support/messages.js';
import { open, readText } from '../../http/support/raw-socket.js';
import { onReplies } from '../../http/support/replies.js';
import { createShop } from '../../http/support/shop.js';
import { fakeStore } from '../../support/fake-store.js';
import { createDeferred, until } from '../../support/until.js';

test('a list whose request is followed by a CONNECT is sent to its end, unless the client stops reading or resets the connection', {
  timeout: 60_000,
}, async (t) => {
  async function* list() {
    for (let id = 0; id < 64; id++) yield `{"id":${id},"shipDate":"${'x'.repeat(500_000)}"}`;
  }
  const { server, port } = await attached(t, createShop({ store: fakeStore({ list }) }));
  const opened = once(server, 'connection');
  const requests = get() + lines('CONNECT a:443 HTTP/1.1', 'Host: a');
  assert.match(await readText(open(port, requests)), /,\{"id":63,[^{]*\]\r\n0\r\n\r\n$/);
  const [connection] = await opened;
  assert.ok(connection.writableFinished, 'TLS would tell the client that the response is complete');
  server.timeout = 200;
  for (const isReset of [false, true]) {
    const connected = once(server, 'connect');
    const stalled = open(port, requests).pause();
    const [, socket] = await connected;
    if (isReset) stalled.resetAndDestroy();
    // Not `once` of node:events, which would handle the error of the reset.
    await new Promise((resolve) => socket.on('close', resolve));
    stalled.destroy();
  }
});

test('a route of the host that reads malformed content gets no further; the service responds with 400 unless the route has read the content, has begun to respond or reads late', {
  timeout: 60_000,
}, async (t) => {
  const { attach } = nodeHandler(createShop().service);
  const head = lines('POST / HTTP/1.1', 'Host: a', CHUNKED);
  const send = async (content: string, route: RequestListener, times = {}) =>
    readText(open(await serve(t, attach(createServer(times, route))), head + content));
  const refused = await send('NOT A SIZE\r\n', (request) => void request.resume());
  assert.match(refused, /^HTTP\/1\.1 400 .*\nConnection: close\r\n\r\n\{"code":"bad_request",.*\}$/s);
  const whole = await send(`0\r\n\r\n${GARBAGE}`, (request, response) => {
    request.resume().on('end', () => setTimeout(() => response.end('end'), 20));
  });
  assert.match(whole, /^HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*\r\nend$/);
  const begun = await send('NOT A SIZE\r\n', (request, response) => {
    response.flushHeaders();
    request.resume();
  });
  assert.match(begun, /^HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*\r\n$/);
  const times = { requestTimeout: 100, headersTimeout: 100, connectionsCheckingInterval: 20 };
  assert.equal(await send('NOT A SIZE\r\n', (request) => void setTimeout(() => request.resume(), 20), times), '');
});

test('a connection that the client resets is closed without a charge, and the server keeps running', async (t) => {
  const statuses: number[] = [];
  t.after(onReplies(({ status }) => statuses.push(status)));
  const { server, port } = await attached(t, createShop());
  const socket = open(port, get());
  await once(socket, 'data');
  const error = once(server, 'clientError');
  socket.resetAndDestroy();
  assert.equal((await error)[0].code, 'ECONNRESET');
  await expectRefusal(port, 'bad_request', GARBAGE);
  assert.deepEqual(statuses, [200, 400]);
});

test('without attach, bytes that arrive after the last response are dropped, and do not reset the connection', async (t) => {
  const { promise: listed, resolve: list } = createDeferred<[]>();
  const server = createServer(nodeHandler(createShop({ store: fakeStore({ list: () => listed }) }).service));
  const port = await serve(t, server);
  const opened = once(server, 'connection');
  server.on('request', () => setImmediate(list, []));
  const socket = open(port, get() + GARBAGE).pause();
  const [connection] = await opened;
  await once(connection, 'finish');
  const { bytesRead } = connection;
  socket.write(GARBAGE);
  await until(() => connection.bytesRead > bytesRead);
  assert.equal(connection.destroyed, false);
  const received = readText(socket);
  socket.resume();
  assert.match(await received, /^HTTP\/1\.1 200/);
});
