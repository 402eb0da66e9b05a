import fastify from 'fastify';
import { Redis } from 'ioredis';
import pg from 'pg';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { announce } from '../announce.js';
import { consume as consumeInMemory, createUnion, limitFields } from './flexible-union.js';
import { keyIdOf, NOT_FOUND_BODY } from './usual-parts.js';

// A Fastify server that does the job of store-orders, with PostgreSQL and Redis, but without this
// package. Its queries are named, so that PostgreSQL plans each of them once per connection. The
// class `RateLimiterUnion` of rate-limiter-flexible counts each request in a minute window and a
// day window, in memory if there is no port of Redis.
const [host = '', port = '', schema = ''] = process.argv.slice(2);
const { INT8 } = pg.types.builtins;
pg.types.setTypeParser(INT8, Number);
// 0 keeps idle connections open. PostgreSQL has a process for each connection, and the processor
// time of that process can be read only while the connection is open.
const idleTimeoutMillis = 0;
const pool = new pg.Pool({ host, user: 'postgres', max: 10, idleTimeoutMillis, options: `-c search_path=${schema}` });
function redisUnion() {
  const storeClient = new Redis(Number(port), '127.0.0.1');
  return createUnion((window) => new RateLimiterRedis({ ...window, storeClient }));
}
const consume = port === '' ? consumeInMemory : redisUnion();

const LIST = {
  name: 'list',
  text: 'SELECT id, pet_id AS "petId", quantity, ship_date AS "shipDate", complete FROM store_orders ORDER BY id',
};
const CANCEL = {
  name: 'cancel',
  text: "UPDATE store_orders SET status = 'cancelled' WHERE id = $1 AND status = 'pending'",
};
const FIND = { name: 'find', text: 'SELECT FROM store_orders WHERE id = $1' };

const app = fastify();
app.addHook('onRequest', async (request, reply) => {
  const keyId = keyIdOf(request.headers.authorization);
  if (keyId === undefined) return reply.code(401).send();
  const taken = await consume(keyId);
  if (taken === undefined) return reply.code(429).send('Too Many Requests');
  reply.headers(limitFields(taken));
});

const order = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    petId: { type: 'integer' },
    quantity: { type: 'integer' },
    shipDate: { type: 'string' },
    complete: { type: 'boolean' },
  },
};
app.get('/v1/store/orders', { schema: { response: { 200: { type: 'array', items: order } } } }, async () => {
  const { rows } = await pool.query(LIST);
  return rows;
});
app.delete<{ Params: { id: string } }>('/v1/store/orders/:id', async (request, reply) => {
  const values = [request.params.id];
  if ((await pool.query({ ...CANCEL, values })).rowCount === 1) return reply.code(204).send();
  if ((await pool.query({ ...FIND, values })).rowCount === 1) return reply.code(409).send();
  return reply.code(404).type('application/json').send(NOT_FOUND_BODY);
});

await app.listen({ host: '127.0.0.1', port: 0 });
announce(app.server);
