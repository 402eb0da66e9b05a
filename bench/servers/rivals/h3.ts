import { createServer } from 'node:http';
import { H3, HTTPError } from 'h3';
import { toNodeHandler } from 'h3/node';
import { announce } from '../announce.js';
import { consume, limitFields } from './flexible-union.js';
import { cancel, keyIdOf, LIST_BODY, NOT_FOUND_BODY, refill } from './usual-parts.js';

const app = new H3();
app.use(async (event, next) => {
  const keyId = keyIdOf(event.req.headers.get('authorization') ?? undefined);
  if (keyId === undefined) throw new HTTPError({ status: 401 });
  const taken = await consume(keyId);
  if (taken === undefined) throw new HTTPError({ status: 429 });
  for (const [name, value] of Object.entries(limitFields(taken))) event.res.headers.set(name, value);
  return next();
});
app.get('/v1/store/orders', (event) => {
  event.res.headers.set('Content-Type', 'application/json');
  return LIST_BODY;
});
app.delete('/v1/store/orders/:id', (event) => {
  const status = cancel(`${event.context.params?.['id']}`);
  event.res.status = status;
  if (status !== 404) return null;
  event.res.headers.set('Content-Type', 'application/json');
  return NOT_FOUND_BODY;
});

announce(createServer(toNodeHandler(app)).listen(0, '127.0.0.1'), refill);
