import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Cluster, Redis } from 'ioredis';
import { createPlan, perDay, perMinute } from 'store-orders/limiter';
import { createRedisLimiter, type SendCommand } from 'store-orders/redis';
import { withoutHosts } from '../../support/installed.js';
import { type RedisServer, startRedis, startRedisCluster, skip as withoutRedis } from '../../support/redis-server.js';

const skip = withoutRedis || withoutHosts;

interface Client {
  readonly send: SendCommand;
  readonly close: () => unknown;
}

let single: RedisServer | undefined;
let cluster: RedisServer[] = [];

before(async () => {
  if (skip) return;
  single = await startRedis();
  cluster = await startRedisCluster();
});

after(() => Promise.all([single, ...cluster].map((server) => server?.stop())));

const HOST = '127.0.0.1';
const port = () => single?.port ?? 0;
const nodes = () => cluster.map(({ port }) => ({ host: HOST, port }));
const urls = () => cluster.map(({ port }) => ({ url: `redis://${HOST}:${port}` }));

/** The methods of ioredis and of its fork iovalkey. */
interface Ioredis {
  call(...command: [string, ...string[]]): Promise<unknown>;
  disconnect(): void;
}

function fromIoredis(client: Ioredis): Client {
  return { send: (command) => client.call(...command), close: () => client.disconnect() };
}

async function openRedis(RESP: 2 | 3): Promise<Client> {
  const { createClient } = await import('redis');
  const client = createClient({ url: `redis://${HOST}:${port()}`, RESP });
  await client.connect();
  return { send: (command) => client.sendCommand(command), close: () => client.destroy() };
}

const CLIENTS: Readonly<Record<string, () => Client | Promise<Client>>> = {
  ioredis: () => fromIoredis(new Redis(port(), HOST)),
  'ioredis, a cluster': () => fromIoredis(new Cluster(nodes())),
  async iovalkey() {
    const { Redis } = await import('iovalkey');
    return fromIoredis(new Redis(port(), HOST));
  },
  async 'iovalkey, a cluster'() {
    const { Cluster } = await import('iovalkey');
    return fromIoredis(new Cluster(nodes()));
  },
  'redis, RESP 2': () => openRedis(2),
  'redis, RESP 3': () => openRedis(3),
  async 'redis, a cluster'() {
    const { createCluster } = await import('redis');
    const client = createCluster({ rootNodes: urls() });
    await client.connect();
    return { send: (command, key) => client.sendCommand(key, false, command), close: () => client.destroy() };
  },
};

const plan = createPlan({ name: 'p', policies: [perMinute(2), { ...perDay(3), refill: 'continuous' }] });

describe('the Redis limiter works with each supported client', { skip }, () => {
  for (const [name, open] of Object.entries(CLIENTS)) {
    test(name, { skip }, async (t) => {
      const { send, close } = await open();
      t.after(close);
      // With `closed`, the test notices if the server fails and this process decides.
      const limiter = createRedisLimiter({ send, prefix: `${name}:`, onBackendError: 'closed', deadlineMs: 10_000 });
      // With 20 keys, every node of a cluster stores at least one.
      const keys = Array.from({ length: 20 }, (_, index) => `customer-${index}`);
      for (const key of keys) {
        const results = [];
        for (let n = 0; n < 3; n++) results.push((await limiter.take(key, plan)).result);
        assert.deepEqual(results, ['within_quota', 'within_quota', 'over_quota']);
      }
      const [key = ''] = keys;
      for (const server of [single, ...cluster]) await server?.client.script('FLUSH');
      await limiter.ban(key, 60_000);
      assert.equal((await limiter.take(key, plan)).result, 'banned');
      await limiter.unban(key);
      assert.equal((await limiter.take(key, plan)).result, 'over_quota');
      await limiter.reset(key);
      await limiter.take(key, plan);
      const left = await limiter.peek(key, plan, 0);
      assert.deepEqual(
        left.windows.map(({ remaining }) => remaining),
        [1, 2],
      );
      assert.equal(limiter.mode, 'shared');
    });
  }
});
