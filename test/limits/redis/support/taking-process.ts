import { Cluster, Redis } from 'ioredis';
import { createPlan } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';

/**
 * Sends requests with many keys to the limiter, over several connections, at a steady rate. Prints
 * how many requests were allowed in each window of each key. Parameters: the ports of the servers
 * (several ports form a cluster), the number of connections, the number of keys, the requests per
 * second, the duration in milliseconds, the quota per second and the quota per hour.
 */
const [portsText = '', ...numbers] = process.argv.slice(2);
const [connections = 0, keys = 0, perSecond = 0, forMs = 0, second = 0, hour = 0] = numbers.map(Number);
const ports = portsText.split(',').map(Number);
const nodes = ports.map((port) => ({ host: '127.0.0.1', port }));
const clients = Array.from({ length: connections }, () =>
  ports.length > 1 ? new Cluster(nodes) : new Redis(ports[0] ?? 0, '127.0.0.1'),
);
// With `closed`, the test sees an error if the server fails. Otherwise the limiter would count in
// this process instead, and the test would not notice.
const limiters = clients.map((client) =>
  createRedisLimiter({ send: (command) => client.call(...command), deadlineMs: 60_000, onBackendError: 'closed' }),
);
const plan = createPlan({
  name: 'shared',
  policies: [
    { name: 'second', quota: second, windowMs: 1_000 },
    { name: 'hour', quota: hour, windowMs: 3_600_000 },
  ],
  ban: false,
});

const admitted = new Map<string, number>();
let requests = 0;

async function request(n: number): Promise<void> {
  const key = `customer-${n % keys}`;
  const decision = await limiters[n % limiters.length]?.take(key, plan);
  if (!decision?.allowed) return;
  for (const { policy, resetAtMs } of decision.windows) {
    const window = `${key} ${policy.name} ${resetAtMs}`;
    admitted.set(window, (admitted.get(window) ?? 0) + 1);
  }
}

await Promise.all(limiters.map((limiter) => limiter.peek('warm', plan)));
const beganMs = performance.now();
const work: Promise<void>[] = [];
const timer = setInterval(() => {
  const sinceMs = Math.min(forMs, performance.now() - beganMs);
  for (; requests < (sinceMs * perSecond) / 1_000; requests++) work.push(request(requests * 7));
  if (sinceMs >= forMs) {
    clearInterval(timer);
    Promise.all(work).then(() => {
      process.stdout.write(JSON.stringify({ requests, admitted: [...admitted] }));
      for (const client of clients) client.disconnect();
    });
  }
}, 5);
