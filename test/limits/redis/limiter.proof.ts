import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { createPlan, PLANS, perDay } from 'store-orders/limiter';
import { createRedisLimiter, type RedisLimiterOptions, type SendCommand } from 'store-orders/redis';
import { rateLimiterSuite } from 'store-orders/testing';
import { skip, startRedisCluster } from '../../support/redis-server.js';
import { until } from '../../support/until.js';
import { useRedis } from './support/redis.js';

const redis = useRedis();
const send: SendCommand = (command) => redis().call(...command);

/**
 * Creates a limiter on which a failing call throws an error. The deadline of its calls is long
 * enough for a busy machine.
 */
const patient = (options: Partial<RedisLimiterOptions> = {}) =>
  createRedisLimiter({ send, onBackendError: 'closed', deadlineMs: 30_000, ...options });

suite('the Redis limiter with the clock of the Redis server', { skip }, () => {
  const cases = rateLimiterSuite(() => ({ limiter: patient({ refusalCacheMs: 0 }) }));
  for (const { name, run } of cases) test(name, { skip }, run);
});

const daily = createPlan({ name: 'daily', policies: [perDay(2)] });

test('the limiter needs only one call to Redis for a decision about all windows and the ban', { skip }, async () => {
  const sent: string[] = [];
  const limiter = patient({
    send(command, key) {
      sent.push(command[0]);
      return send(command, key);
    },
  });
  await limiter.take('warm', PLANS.free);
  await redis().config('RESETSTAT');
  sent.length = 0;
  for (let n = 0; n < 200; n++) await limiter.take(`customer-${n % 20}`, PLANS.free);
  const ran = await redis().info('commandstats');
  for (const command of ['evalsha', 'get', 'psetex']) assert.match(ran, RegExp(`cmdstat_${command}:calls=200,`));
  assert.deepEqual(sent, Array(200).fill('EVALSHA'));
});

test('a decision uses the values that the plan had when the request was made', { skip }, async () => {
  const plan = structuredClone(daily);
  const asked = patient().take('key', plan, 2);
  Object.assign(plan.policies[0] ?? {}, { quota: 1_000 });
  const { remaining, policy } = (await asked).inForce;
  assert.deepEqual([remaining, policy.quota], [0, 2]);
});

test('decisions use the clock of the Redis server, however wrong the clock of this process is', { skip }, async (t) => {
  const real = performance.now.bind(performance);
  for (const wrongMs of [-3_600_000, 3_600_000]) {
    t.mock.method(performance, 'now', () => real() + wrongMs);
    const { nowMs } = await patient().take(`customer ${wrongMs}`, daily);
    const [seconds] = await redis().time();
    assert.ok(Math.abs(Number(seconds) * 1_000 - nowMs) < 60_000);
  }
});

/** Creates a limiter on each connection, and closes the connections when the test ends. */
function openOn(t: TestContext, connections: readonly (Redis | Cluster)[], options: Partial<RedisLimiterOptions>) {
  t.after(() => connections.map((one) => one.disconnect()));
  return connections.map((one) => patient({ send: (command) => one.call(...command), ...options }));
}

test('without the cache of refusals, ten limiters together ban a key at exactly its 20th refusal that counts', {
  skip,
}, async (t) => {
  const connections = Array.from({ length: 10 }, () => redis().duplicate());
  const limiters = openOn(t, connections, { refusalCacheMs: 0 });
  const plan = createPlan({ name: 'strict', policies: [perDay(1)], ban: { graceMs: 1 } });
  for (let n = 0; n < 2; n++) await patient().take('abuser', plan);
  await sleep(10);
  const asked = limiters.flatMap((limiter) => Array.from({ length: 20 }, () => limiter.take('abuser', plan)));
  const decisions = await Promise.all(asked);
  // The refusal that starts the ban has the result "banned".
  assert.equal(decisions.filter(({ result }) => result === 'over_quota').length, 19);
  assert.equal(decisions.filter(({ result }) => result === 'banned').length, 181);
  assert.equal(new Set(decisions.map(({ inForce }) => inForce.resetAtMs)).size, 1);
});

for (const where of ['one server', 'a cluster of three masters']) {
  test(`32 limiters with connections of their own, on ${where}, together allow exactly the quotas of 100 keys`, {
    skip,
  }, async (t) => {
    const cluster = where === 'one server' ? [] : await startRedisCluster();
    t.after(() => Promise.all(cluster.map((server) => server.stop())));
    const nodes = cluster.map(({ port }) => ({ host: '127.0.0.1', port }));
    const connect = () => (nodes.length > 0 ? new Cluster(nodes) : redis().duplicate());
    const limiters = openOn(t, Array.from({ length: 32 }, connect), { deadlineMs: 60_000 });
    // A key uses up its quota of an hour in three windows of a second.
    const second = { name: 'second', quota: 5, windowMs: 1_000 };
    const hour = { name: 'hour', quota: 15, windowMs: 3_600_000 };
    const plan = createPlan({ name: 'shared', policies: [second, hour], ban: false });
    const allowed = new Map<string, number>();
    let requests = 0;

    async function request(n: number): Promise<void> {
      const decision = (await limiters[n % 32]?.take(`customer-${n % 100}`, plan)) ?? assert.fail();
      if (!decision.allowed) return;
      for (const { policy, resetAtMs } of decision.windows) {
        const window = `${policy.name} ${decision.key} ${resetAtMs}`;
        allowed.set(window, (allowed.get(window) ?? 0) + 1);
      }
    }

    const round = () => Promise.all(Array.from({ length: 1_000 }, () => request(requests++)));
    const countsOf = (name: string) => [...allowed].filter(([window]) => window.startsWith(name)).map(([, n]) => n);
    await until(async () => {
      await round();
      return countsOf('hour').every((count) => count >= 15);
    }, 30_000);
    await round();
    t.diagnostic(`${requests} requests`);
    assert.deepEqual(countsOf('hour'), Array(100).fill(15));
    for (const count of countsOf('second')) assert.ok(count <= 5, `${count} in a second`);
  });
}
