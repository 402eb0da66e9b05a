import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type RedisServer, skip, startRedis, startRedisCluster } from '../../support/redis-server.js';
import { IS_FULL } from './support/rounds.js';

const PROCESSES = 4;
const CONNECTIONS = 8;
const KEYS = 100;
const SECONDS = IS_FULL ? 10 : 3;
/**
 * The quotas per second and per hour. A key uses up its hourly quota two seconds before the run
 * ends.
 */
const A_SECOND = 5;
const AN_HOUR = A_SECOND * (SECONDS - 2);
/**
 * The number of requests that each process sends per second. All processes together send ten times
 * as many requests as the quotas per second of all keys allow.
 */
const PER_SECOND = (10 * A_SECOND * KEYS) / PROCESSES;

const run = promisify(execFile);
const program = fileURLToPath(new URL('support/taking-process.ts', import.meta.url));

interface Result {
  readonly requests: number;
  readonly admitted: readonly (readonly [window: string, count: number])[];
}

async function takeFrom(servers: readonly RedisServer[]): Promise<Result[]> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const parameters = [CONNECTIONS, KEYS, PER_SECOND, SECONDS * 1_000, A_SECOND, AN_HOUR];
  const ports = servers.map(({ port }) => port).join(',');
  const command = ['--import', 'tsx', program, ports, ...parameters.map(String)];
  const outputs = await Promise.all(
    Array.from({ length: PROCESSES }, () => run(process.execPath, command, { env, maxBuffer: 1e8 })),
  );
  return outputs.map(({ stdout }) => JSON.parse(stdout) as Result);
}

for (const [where, start] of [
  ['one server', async () => [await startRedis()]],
  ['a cluster of three masters', startRedisCluster],
] as const) {
  test(`${PROCESSES} processes × ${CONNECTIONS} connections on ${where} allow exactly the quota`, {
    skip,
  }, async (t: TestContext) => {
    const servers = await start();
    t.after(() => Promise.all(servers.map((server) => server.stop())));
    const results = await takeFrom(servers);
    const requests = results.reduce((sum, result) => sum + result.requests, 0);
    const windows = new Map<string, number>();
    for (const { admitted } of results) {
      for (const [window, count] of admitted) windows.set(window, (windows.get(window) ?? 0) + count);
    }
    const hours = [...windows].filter(([window]) => window.includes(' hour '));
    const seconds = [...windows].filter(([window]) => window.includes(' second '));
    t.diagnostic(`${requests} requests, ${hours.length} windows of an hour, ${seconds.length} of a second`);

    assert.ok(requests >= PROCESSES * PER_SECOND * SECONDS * 0.9);
    assert.equal(hours.length, KEYS, 'all processes count the requests of a key in one hourly window');
    assert.deepEqual(new Set(hours.map(([, count]) => count)), new Set([AN_HOUR]));
    for (const [window, count] of seconds) assert.ok(count <= A_SECOND, `${window}: ${count}`);
    // A full run expects an idle machine, so it can check that the hourly quota is used up in the
    // fewest possible seconds. On a busy machine the processes pause, and need more seconds.
    if (IS_FULL) assert.equal(seconds.length, KEYS * (AN_HOUR / A_SECOND));
  });
}
