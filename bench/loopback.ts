import autocannon from 'autocannon';
import { startServer } from './child.js';
import { API_KEY } from './servers/orders.js';
import { median, ratio, type Table } from './table.js';

const SERVERS = ['bare', 'handler'] as const;
const REQUESTS = [
  { name: 'GET, 10 orders', method: 'GET', path: '/v1/store/orders' },
  { name: 'DELETE, 404', method: 'DELETE', path: '/v1/store/orders/1' },
] as const;
const ROUNDS = 7;
const ROUND_SECONDS = 2;
const CONNECTIONS = 32;

/** Requests per second over loopback, each server between two rounds of the other. */
export async function loopback(): Promise<Table> {
  const started = await Promise.all(SERVERS.map((name) => startServer(name)));
  try {
    const rows: string[][] = [];
    for (const request of REQUESTS) {
      const rates = SERVERS.map((): number[] => []);
      // The first round warms up and does not count.
      for (let round = 0; round <= ROUNDS; round++) {
        for (const [index, { url }] of started.entries()) {
          const rate = await load(url + request.path, request.method);
          if (round > 0) rates[index]?.push(rate);
        }
      }
      const [bare = [], handler = []] = rates;
      rows.push([
        request.name,
        Math.round(median(bare)).toLocaleString('en'),
        Math.round(median(handler)).toLocaleString('en'),
        ratio(handler, bare),
      ]);
    }
    return {
      title: `Requests a second over loopback, ${CONNECTIONS} keep-alive connections`,
      head: ['request', 'bare `node:http`, same bytes', '`nodeHandler`, the whole job', 'ratio (least–most)'],
      rows,
    };
  } finally {
    for (const { stop } of started) stop();
  }
}

async function load(url: string, method: 'GET' | 'DELETE'): Promise<number> {
  const result = await autocannon({
    url,
    method,
    connections: CONNECTIONS,
    duration: ROUND_SECONDS,
    headers: { authorization: `Bearer ${API_KEY}` },
  });
  if (result.errors > 0 || result.timeouts > 0) throw new Error(`${url}: ${result.errors} errors`);
  return result.requests.total / result.duration;
}
