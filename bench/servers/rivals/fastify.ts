import rateLimit from '@fastify/rate-limit';
import fastify, { type FastifyRequest } from 'fastify';
import { announce } from '../announce.js';
import { DAY_MS, MINUTE_MS, PER_DAY, PER_MINUTE } from '../plenty.js';
import { cancel, keyIdOf, LIST_BODY, NOT_FOUND_BODY, refill } from './usual-parts.js';

const app = fastify();
app.decorateRequest('keyId', '');
app.addHook('onRequest', (request, reply, done) => {
  const keyId = keyIdOf(request.headers.authorization);
  if (keyId === undefined) {
    reply.code(401).send();
    return;
  }
  request.setDecorator('keyId', keyId);
  done();
});
const keyGenerator = (request: FastifyRequest) => request.getDecorator<string>('keyId');
await app.register(rateLimit, { max: PER_MINUTE, timeWindow: MINUTE_MS, keyGenerator });
// The plugin checks one window for each request. The second window is checked by hand, as the
// documentation of the plugin shows.
const checkDay = app.createRateLimit({ max: PER_DAY, timeWindow: DAY_MS, keyGenerator });
app.addHook('preHandler', async (request, reply) => {
  const day = await checkDay(request);
  if (!day.isAllowed && day.isExceeded) return reply.code(429).send('Too Many Requests');
});

app.get('/v1/store/orders', (_, reply) => {
  reply.type('application/json').send(LIST_BODY);
});
app.delete<{ Params: { id: string } }>('/v1/store/orders/:id', (request, reply) => {
  const status = cancel(request.params.id);
  if (status === 404) reply.code(status).type('application/json').send(NOT_FOUND_BODY);
  else reply.code(status).send();
});

await app.listen({ host: '127.0.0.1', port: 0 });
announce(app.server, refill);
