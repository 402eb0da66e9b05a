import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createRawServer, type Server } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createMemoryLimiter, createOrderService, nodeHandler } from 'store-orders';
import { announce } from './announce.js';
import { API_KEY, manyOrders } from './orders.js';
import { PLENTY } from './plenty.js';

// A server of a long list, sent in one of several ways. On request, the server reports its memory
// and its longest stall to its parent.
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
  return JSON.stringify(store.list().flat(), (_, value) => (typeof value === 'bigint' ? Number(value) : value));
}

const server = WAYS[way]?.();
if (server === undefined) throw new TypeError(`${way}: no such way`);
const delay = monitorEventLoopDelay({ resolution: 1 });
let busyMs = 0;
process.once('message', watchTurns);
announce(server.listen(0, '127.0.0.1'), () => {
  const figures = { rssBytes: process.memoryUsage.rss(), stalledMs: delay.max / 1e6, busyMs };
  delay.reset();
  delay.enable();
  busyMs = 0;
  return figures;
});

function watchTurns(): void {
  let beforeMs = usedMs();
  setInterval(() => {
    const nowMs = usedMs();
    busyMs = Math.max(busyMs, nowMs - beforeMs);
    beforeMs = nowMs;
  }, 1);
}

/** Returns the processor time of the main thread. `NaN` if the system does not report it. */
function usedMs(): number {
  const file = `/proc/self/task/${process.pid}/schedstat`;
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) / 1e6 : Number.NaN;
}
