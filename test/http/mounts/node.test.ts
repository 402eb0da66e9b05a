import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { test } from 'node:test';
import { forwardedAddress, nodeHandler } from 'store-orders/handler';
import { fakeStore } from '../../support/fake-store.js';
import { assertError, checkAnswer, rateLimitOf } from '../support/answer.js';
import { exchange, open, readText } from '../support/raw-socket.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { askNode, listen } from '../support/ways.js';

const agent = new Agent();

test('a request for a path of the host goes to `next`, whatever its method, and is not charged', async () => {
  const { service } = createShop();
  const handle = nodeHandler(service);
  const { port, close } = await listen((request, response) =>
    handle(request, response, () => {
      response.writeHead(200, { 'X-Host': 'yes' }).end('of the host');
    }),
  );
  for (const path of ['/', '/v1/pets/1', `${ORDERS}/`, `${ORDERS}/1/2`, '/v2/store/orders', '*']) {
    for (const method of ['GET', 'DELETE', 'OPTIONS']) {
      assert.equal((await askNode({ agent, port }, method, path, [])).text, 'of the host', `${method} ${path}`);
    }
  }
  for (const [method, path] of [
    ['GET', ORDERS],
    ['GET', `${ORDERS}?page=1`],
    ['POST', ORDERS],
    ['DELETE', `${ORDERS}/abc`],
    ['DELETE', `http://orders.test${ORDERS}/1`],
    ['GET', `${ORDERS}?${'x'.repeat(9_000)}`],
  ] as const) {
    assertError(await askNode({ agent, port }, method, path, []), 'missing_api_key');
  }
  assert.equal(
    rateLimitOf(await askNode({ agent, port }, 'GET', ORDERS, [])).remaining,
    593,
    '7 requests were charged',
  );
  await close();
});

test('headers that the host has set are kept, but the service replaces its own fields and adds to Vary', async () => {
  const handle = nodeHandler(createShop().service);
  const { port, close } = await listen((request, response) => {
    response.setHeader('X-Request-Id', 'r-1');
    response.setHeader('Vary', ['Origin', 'Accept']);
    response.setHeader('Content-Type', 'text/html');
    response.setHeader('X-RateLimit-Limit', '5');
    handle(request, response);
  });
  for (const [method, path, status, vary] of [
    ['GET', ORDERS, 200, 'Origin,Accept, Accept-Encoding'],
    ['DELETE', `${ORDERS}/404`, 404, 'Origin, Accept'],
  ] as const) {
    const answer = await askNode({ agent, port }, method, path, [KEY]);
    checkAnswer(answer, method);
    assert.equal(answer.status, status);
    assert.equal(answer.fields.get('x-request-id'), 'r-1');
    assert.equal(answer.fields.get('vary'), vary);
    assert.equal(rateLimitOf(answer).limit, 1_000);
  }
  await close();
});

test('a request without Host gets a 400 in HTTP/1.1, also under a mount path, but is served in HTTP/1.0', async () => {
  const handle = nodeHandler(createShop().service);
  const { port, close } = await listen((request, response) => {
    if (request.headers['x-mounted'] !== undefined) {
      Object.assign(request, { originalUrl: request.url });
      request.url = '/orders/2';
    }
    handle(request, response, () => response.writeHead(404).end());
  });
  for (const [version, mounted, expected] of [
    ['1.1', '', 400],
    ['1.1', 'X-Mounted: 1\r\n', 400],
    ['1.0', '', 200],
  ] as const) {
    const head = `GET ${ORDERS} HTTP/${version}\r\n${KEY.join(': ')}\r\n${mounted}Connection: close\r\n\r\n`;
    const { answers } = await exchange(port, head);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [expected],
    );
  }
  await close();
});

test('the client address is the remote address of the connection, or the one that the clientAddress option returns', async () => {
  const { service } = createShop();
  const direct = await listen(nodeHandler(service));
  const proxied = await listen(nodeHandler(service, { clientAddress: forwardedAddress(1) }));
  const ask = async (port: number, address: string) =>
    rateLimitOf(await askNode({ agent, port }, 'GET', ORDERS, [['X-Forwarded-For', address]])).remaining;
  assert.equal(await ask(direct.port, '198.51.100.1'), 599);
  assert.equal(await ask(direct.port, '198.51.100.2'), 598);
  assert.equal(await ask(proxied.port, '198.51.100.1'), 599);
  assert.equal(await ask(proxied.port, '198.51.100.1'), 598);
  assert.equal(await ask(proxied.port, '198.51.100.2'), 599);
  assert.equal(await ask(proxied.port, 'unknown'), 597, 'the remote address replaces a malformed X-Forwarded-For');
  await direct.close();
  await proxied.close();
});

test('the service writes no response if the host has already sent one or the client has hung up', async () => {
  for (const leave of ['host has sent', 'host has begun', 'client has left'] as const) {
    let finish = (_: []) => {};
    let isListing = () => {};
    const listing = new Promise<void>((resolve) => {
      isListing = resolve;
    });
    const list = () => {
      isListing();
      return new Promise<[]>((resolve) => {
        finish = resolve;
      });
    };
    const { service } = createShop({ store: fakeStore({ list }) });
    const handle = nodeHandler(service);
    let closed: Promise<unknown> = Promise.resolve();
    let later = () => {};
    const { port, close } = await listen((request, response) => {
      closed = once(response, 'close');
      handle(request, response);
      if (leave === 'host has sent') response.writeHead(504, { Connection: 'close' }).end('late');
      if (leave === 'host has begun') {
        response.writeHead(504, { Connection: 'close' }).write('la');
        later = () => response.end('te');
      }
    });
    const socket = open(port, `GET ${ORDERS} HTTP/1.1\r\nHost: a\r\n${KEY.join(': ')}\r\n\r\n`);
    const text = readText(socket);
    await listing;
    if (leave === 'client has left') socket.destroy();
    if (leave !== 'host has begun') await closed;
    finish([]);
    await service.close();
    later();
    if (leave !== 'client has left') assert.match(await text, /^HTTP\/1\.1 504 [\s\S]*la[\s\S]*te/);
    socket.destroy();
    await close();
  }
});

test('the handler has three parameters, and returns nothing when it is called with next', async () => {
  const { service } = createShop({ store: fakeStore({ list: async () => [] }) });
  const handle = nodeHandler(service);
  assert.equal(handle.length, 3);
  const results: unknown[] = [];
  const { port, close } = await listen((request, response) => {
    results.push(handle(request, response, () => {}));
  });
  const response = await fetch(`http://127.0.0.1:${port}${ORDERS}`, { headers: [KEY] });
  assert.deepEqual([response.status, results], [200, [undefined]]);
  await close();
});

test('a small response is sent by response.end() if middleware has replaced that function', async () => {
  const handle = nodeHandler(createShop().service);
  const ended: unknown[] = [];
  const { port, close } = await listen((request, response) => {
    const { end } = response;
    Object.assign(response, { end: (body: string) => ended.push(body) && end.call(response, body, 'latin1') });
    handle(request, response);
  });
  checkAnswer(await askNode({ agent, port }, 'DELETE', `${ORDERS}/2`, [KEY]), 'DELETE');
  assert.match(String(ended), /already_shipped/);
  await close();
});
