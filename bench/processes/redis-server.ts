import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { cpuUsOf } from './child.js';

/** Returns the reason why Redis cannot be measured here, or `undefined`. */
export function redisIsMissing(): string | undefined {
  return spawnSync('redis-server', ['--version']).error && 'redis-server is not installed';
}

export interface RedisServer {
  readonly port: number;
  connect(): Redis;
  /**
   * Returns the processor time that the server has used so far, in microseconds. `NaN` if the
   * system does not report it.
   */
  cpuUs(): number;
  stop(): Promise<void>;
}

/** Starts a Redis server for the benchmarks. It stores nothing on disk. */
export async function startRedis(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'store-orders-bench-'));
  const port = await freePort();
  const server = spawn('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', folder], {
    stdio: 'ignore',
  });
  const exited = once(server, 'exit');
  const clients: Redis[] = [];
  return {
    port,

    connect() {
      const client = new Redis(port, '127.0.0.1', { retryStrategy: () => 50 }).on('error', () => {});
      clients.push(client);
      return client;
    },
    cpuUs: () => cpuUsOf(`${server.pid}`),
    async stop() {
      for (const client of clients) client.disconnect();
      server.kill();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
