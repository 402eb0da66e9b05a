import { createServer } from 'node:http';
import { Redis } from 'ioredis';
import pg from 'pg';
import { createMemoryLimiter, createOrderService, nodeHandler } from 'store-orders';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { createRedisLimiter } from 'store-orders/redis';
import { announce } from './announce.js';
import { API_KEY } from './orders.js';
import { PLENTY } from './plenty.js';

// A server that runs the complete service over databases that many processes can share: orders in
// PostgreSQL, quotas in Redis. Without a port of Redis, it keeps the quotas in memory.
const [host = '', port = '', schema = ''] = process.argv.slice(2);
// 0 keeps idle connections open. PostgreSQL has a process for each connection, and the processor
// time of that process can be read only while the connection is open.
const idleTimeoutMillis = 0;
const pool = new pg.Pool({ host, user: 'postgres', max: 10, idleTimeoutMillis, options: `-c search_path=${schema}` });
function redisLimiter() {
  const redis = new Redis(Number(port), '127.0.0.1');
  return createRedisLimiter({ send: (command) => redis.call(...command), deadlineMs: 10_000 });
}
const keys = new Map([[API_KEY, { id: 'bench', plan: PLENTY }]]);
const service = createOrderService({
  store: createPostgresOrderStore(pool),
  limiter: port === '' ? createMemoryLimiter() : redisLimiter(),
  authenticate: (apiKey) => keys.get(apiKey),
});
announce(createServer(nodeHandler(service)).listen(0, '127.0.0.1'));
