import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import express from 'express';
import { nodeHandler } from 'store-orders';
import { createShop, KEY, ORDERS, order } from '../support/shop.js';
import { listening } from './support/mount.js';

const headers = Object.fromEntries([KEY]);

async function opened(t: TestContext, app: express.Express): Promise<string> {
  const { origin, close } = await listening(createServer(app));
  t.after(close);
  return origin;
}

/**
 * Adds a header as version 1.0 of the package on-headers does. Middleware for compression, sessions
 * and response times used that version. It mistakes a flat array of headers for an array of pairs.
 */
function addingLate(response: ServerResponse, name: string, value: string): void {
  const { writeHead } = response;
  response.writeHead = (status: number, ...rest: unknown[]) => {
    for (const list of rest) {
      if (!Array.isArray(list)) continue;
      for (const pair of list) response.setHeader(String(pair[0]), String(pair[1]));
    }
    response.setHeader(name, value);
    return writeHead.call(response, status);
  };
}

test('the response has a header that middleware adds when the head is written', async (t) => {
  const app = express();
  app.use((_request, response, next) => {
    addingLate(response, 'X-Response-Time', '1ms');
    next();
  });
  app.use(nodeHandler(createShop().service));
  const response = await fetch(`${await opened(t, app)}${ORDERS}`, { headers });
  assert.equal(response.status, 200);
  for (const [name, value] of [
    ['X-Response-Time', '1ms'],
    ['Content-Type', 'application/json'],
    ['X-RateLimit-Limit', '1000'],
    ['C', null],
  ] as const) {
    assert.equal(response.headers.get(name), value, name);
  }
  assert.equal(response.headers.get('Content-Length'), `${(await response.text()).length}`);
});

test('a request to which middleware has responded cancels no order', async (t) => {
  const { service, store } = createShop();
  const app = express();
  app.use((request, response, next) => (request.method === 'DELETE' ? void response.sendStatus(403) : next()));
  app.use(nodeHandler(service));
  const origin = await opened(t, app);
  assert.equal((await fetch(`${origin}${order(1)}`, { method: 'DELETE', headers })).status, 403);
  assert.equal(store.get(1n)?.status, 'pending');
  assert.equal((await fetch(`${origin}${ORDERS}`, { headers })).status, 200);
});
