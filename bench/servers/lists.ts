import { createServer } from 'node:http';
import { createServer as createRawServer, type Server } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createMemoryLimiter, createOrderService, nodeHandler } from 'store-orders';
import { announce } from './announce.js';
import { API_KEY, manyOrders } from './orders.js';
import { PLENTY } from './plenty.js';

// A server that sends a long list of orders in one of several ways. When its parent process asks,
// it reports its memory and the longest stall of its event loop.
const [way = '', count = '0'] = process.argv.slice(2);
const store = manyOrders(Number(count));

const WAYS: Readonly<Record<string, () => Server>> = {
  raw() {
    const list = Buffer.from(stringified());
    const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${list.length}\r\n\r\n`;
    return createRawServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => {
        socket.cork();
        socket.write(head);
        socket.write(list);
        socket.uncork();
      });
    });
  },
  cached() {
    const list = Buffer.from(stringified());
    return createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': list.length }).end(list);
    });
  },
  stringify() {
    return createServer((_, response) => {
      const list = stringified();
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': list.length }).end(list);
    });
  },
  service() {
    const service = createOrderService({
      store,
      limiter: createMemoryLimiter(),
      authenticate: (apiKey) => (apiKey === API_KEY ? { id: 'bench', plan: PLENTY } : undefined),
    });
    return createServer(nodeHandler(service));
  },
};

function stringified(): string {
  return JSON.stringify(store.list(), (_, value) => (typeof value === 'bigint' ? Number(value) : value));
}

const server = WAYS[way]?.();
if (server === undefined) throw new TypeError(`${way}: unknown way of sending a list`);
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
announce(server.listen(0, '127.0.0.1'), () => {
  const figures = { rssBytes: process.memoryUsage.rss(), stalledMs: delay.max / 1e6 };
  delay.reset();
  return figures;
});
