import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cluster, Redis } from 'ioredis';
import { createPlan } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { skip, startRedis, startRedisCluster } from '../../support/redis-server.js';

const LIMITERS = 32;
const KEYS = 100;
const A_SECOND = 5;
/** A key uses it up in three windows of a second. */
const AN_HOUR = 3 * A_SECOND;
const AT_MOST_MS = 30_000;

const plan = createPlan({
  name: 'shared',
  policies: [
    { name: 'second', quota: A_SECOND, windowMs: 1_000 },
    { name: 'hour', quota: AN_HOUR, windowMs: 3_600_000 },
  ],
  ban: false,
});

for (const [where, start] of [
  ['one server', async () => [await startRedis()]],
  ['a cluster of three masters', startRedisCluster],
] as const) {
  test(`${LIMITERS} limiters with connections of their own, on ${where}, together allow exactly the quota`, {
    skip,
  }, async (t) => {
    const servers = await start();
    const nodes = servers.map(({ port }) => ({ host: '127.0.0.1', port }));
    const clients = Array.from({ length: LIMITERS }, () =>
      nodes.length > 1 ? new Cluster(nodes) : new Redis(nodes[0]?.port ?? 0),
    );
    t.after(async () => {
      for (const client of clients) client.disconnect();
      await Promise.all(servers.map((server) => server.stop()));
    });
    const limiters = clients.map((client) =>
      createRedisLimiter({ send: (command) => client.call(...command), deadlineMs: 60_000, onBackendError: 'closed' }),
    );
    const allowed = new Map<string, number>();
    let requests = 0;

    async function request(n: number): Promise<void> {
      const key = `customer-${n % KEYS}`;
      const decision = (await limiters[n % LIMITERS]?.take(key, plan)) ?? assert.fail();
      if (!decision.allowed) return;
      for (const { policy, resetAtMs } of decision.windows) {
        const window = `${policy.name} ${key} ${resetAtMs}`;
        allowed.set(window, (allowed.get(window) ?? 0) + 1);
      }
    }

    const round = () => Promise.all(Array.from({ length: 10 * KEYS }, () => request(requests++)));
    const countsOf = (name: string) => [...allowed].filter(([window]) => window.startsWith(name)).map(([, n]) => n);
    const isUsedUp = () => countsOf('hour').every((count) => count >= AN_HOUR);
    const beganMs = performance.now();
    do await round();
    while (!isUsedUp() && performance.now() - beganMs < AT_MOST_MS);
    await round();
    t.diagnostic(`${requests} requests`);
    assert.deepEqual(countsOf('hour'), Array(KEYS).fill(AN_HOUR));
    for (const count of countsOf('second')) assert.ok(count <= A_SECOND, `${count} in a second`);
  });
}
