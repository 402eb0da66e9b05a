import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { API_KEY } from './servers/orders.js';
import { median, spread, type Table } from './table.js';

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
  const started = await Promise.all(SERVERS.map(start));
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
      const ratios = handler.map((rate, round) => rate / (bare[round] ?? Number.NaN));
      rows.push([
        request.name,
        Math.round(median(bare)).toLocaleString('en'),
        Math.round(median(handler)).toLocaleString('en'),
        `${median(ratios).toFixed(2)} (${spread(ratios)})`,
      ]);
    }
    return {
      title: `Requests a second over loopback, ${CONNECTIONS} keep-alive connections`,
      head: ['request', 'bare `node:http`, same bytes', '`nodeHandler`, the whole job', 'ratio (least–most)'],
      rows,
    };
  } finally {
    for (const { child } of started) child.kill();
  }
}

/** The server gets a core of its own where the system lets us say so. */
async function start(name: string): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(fileURLToPath(new URL(`servers/${name}.ts`, import.meta.url)), { execArgv: ['--import', 'tsx'] });
  const [address] = await once(child, 'message');
  spawnSync('taskset', ['-a', '-p', '-c', '0', String(child.pid)]);
  return { child, url: `http://127.0.0.1:${address.port}` };
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
