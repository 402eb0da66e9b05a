/**
 * Shares quotas among many processes, which all count their requests in Redis or Valkey. Any client
 * library for Redis works.
 *
 *     REDIS_URL=redis://127.0.0.1:6379 node --import tsx examples/redis.ts
 *     curl -i -H 'Authorization: Bearer open-sesame' http://127.0.0.1:3000/v1/store/orders
 */
import { createServer } from 'node:http';
import { Redis } from 'ioredis';
import { createMemoryOrderStore, createOrderService, nodeHandler, PLANS } from 'store-orders';
import { createRedisLimiter } from 'store-orders/redis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379', {
  // Tries to reconnect every 500 ms, so that the limits are shared again soon after the Redis server
  // is back.
  retryStrategy: () => 500,
  // A command that is sent again would charge its request twice.
  autoResendUnfulfilledCommands: false,
  // After a failover, the old server is a replica. A new connection leads to the new primary.
  reconnectOnError: ({ message }) => message.includes('READONLY'),
});
redis.on('error', () => {});

const service = createOrderService({
  store: createMemoryOrderStore([{ id: 9007199254740993n, petId: 7, quantity: 1 }]),
  limiter: createRedisLimiter({
    send: (command) => redis.call(...command),
    onMode: (mode, error) => console.error(`limits are ${mode} now`, error ?? ''),
  }),
  authenticate: (apiKey) => (apiKey === 'open-sesame' ? { id: 'customer-1', plan: PLANS.free } : undefined),
});

const server = createServer(nodeHandler(service));
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') console.log(`listening on http://127.0.0.1:${address?.port}`);
});
