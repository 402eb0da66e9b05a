/**
 * Protects another route of the application with the API keys and quotas that protect the orders.
 * The responses of this route also announce that it is deprecated, and when it will be removed.
 *
 *     node --import tsx examples/guarded.ts
 */
import express from 'express';
import { nodeHandler } from 'store-orders';
import { announcementFields, createGuard, nodeGuard, principalOf } from 'store-orders/guard';
import { authenticate, limiter, port, service } from './orders.ts';

const app = express();
app.use(nodeHandler(service));

const announced = announcementFields({
  deprecatedAt: new Date('2026-06-01T00:00:00Z'),
  sunsetAt: new Date('2027-06-01T00:00:00Z'),
  documentation: 'https://store.example/docs/pets-v2',
});

app.use('/v1/pets', nodeGuard(createGuard({ limiter, authenticate })));
app.get('/v1/pets/:petId', (request, response) => {
  for (const [name, value] of announced) response.set(name, value);
  response.json({ id: Number(request.params.petId), name: 'Rex', seenBy: principalOf(request)?.id });
});

// Tells a client its quota. The request itself takes a token, and `peek` takes none.
app.use('/v1/quota', nodeGuard(createGuard({ limiter, authenticate })));
app.get('/v1/quota', (request, response) => {
  const principal = principalOf(request);
  if (principal === undefined) throw new Error('the guard has not admitted this request');
  const { windows, utcOffsetMs } = limiter.peek(principal.id, principal.plan, 0);
  response.json(
    windows.map(({ policy: { name, quota }, remaining, resetAtMs }) => {
      return { name, quota, remaining, resetAt: new Date(resetAtMs + utcOffsetMs) };
    }),
  );
});
app.get('/', (_request, response) => {
  response.type('text').send('the host\n');
});

const server = app.listen(port, '127.0.0.1');
server.once('listening', () => console.log('listening on', server.address()));
