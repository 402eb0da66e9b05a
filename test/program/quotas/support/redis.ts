import assert from 'node:assert/strict';
import { type RedisServer, startRedis } from '../../../support/redis-server.js';
import type { RunningServer } from '../../support/program.js';

/** Starts a Redis server, and stops it after the test. */
export async function redisFor(
  t: { after(work: () => unknown): void },
  options?: readonly string[],
  atPort?: number,
): Promise<RedisServer> {
  const redis = await startRedis(options, atPort);
  t.after(() => redis.stop());
  return redis;
}

/** Returns what `/readyz` of a server says of its quotas. */
export async function quotasOf(server: RunningServer): Promise<unknown> {
  const response = await fetch(new URL('/readyz', server.url));
  assert.equal(response.status, 200);
  return JSON.parse(await response.text()).backends.quotas;
}
