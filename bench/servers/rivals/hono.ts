import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';
import { announce } from '../announce.js';
import { DAY_MS, MINUTE_MS, PER_DAY, PER_MINUTE } from '../plenty.js';
import { cancel, keyIdOf, LIST_BODY, NOT_FOUND_BODY, refill } from './usual-parts.js';

const app = new Hono<{ Variables: { keyId: string } }>();
app.use(async (context, next) => {
  const keyId = keyIdOf(context.req.header('Authorization'));
  if (keyId === undefined) return context.body(null, 401);
  context.set('keyId', keyId);
  return next();
});
app.use(
  rateLimiter<{ Variables: { keyId: string } }>({
    windowMs: DAY_MS,
    limit: PER_DAY,
    standardHeaders: false,
    keyGenerator: (context) => context.get('keyId'),
  }),
  rateLimiter<{ Variables: { keyId: string } }>({
    windowMs: MINUTE_MS,
    limit: PER_MINUTE,
    keyGenerator: (context) => context.get('keyId'),
  }),
);
app.get('/v1/store/orders', (context) => context.body(LIST_BODY, 200, { 'Content-Type': 'application/json' }));
app.delete('/v1/store/orders/:id', (context) => {
  const status = cancel(context.req.param('id'));
  return status === 404
    ? context.body(NOT_FOUND_BODY, 404, { 'Content-Type': 'application/json' })
    : context.body(null, status);
});

const server = createAdaptorServer({ fetch: app.fetch });
announce(server.listen(0, '127.0.0.1'), refill);
