import Router from '@koa/router';
import Koa from 'koa';
import { announce } from '../announce.js';
import { consume, limitFields } from './flexible-union.js';
import { cancel, keyIdOf, LIST_BODY, NOT_FOUND_BODY, refill } from './usual-parts.js';

const app = new Koa();
app.use(async (context, next) => {
  const keyId = keyIdOf(context.get('Authorization'));
  if (keyId === undefined) {
    context.status = 401;
    return;
  }
  // Limits requests as the documentation of rate-limiter-flexible shows for Koa.
  const taken = await consume(keyId);
  if (taken === undefined) {
    context.status = 429;
    context.body = 'Too Many Requests';
    return;
  }
  context.set(limitFields(taken));
  await next();
});

const router = new Router();
router.get('/v1/store/orders', (context) => {
  context.type = 'application/json';
  context.body = LIST_BODY;
});
router.delete('/v1/store/orders/:id', (context) => {
  const status = cancel(`${context.params['id']}`);
  context.status = status;
  if (status !== 404) return;
  context.type = 'application/json';
  context.body = NOT_FOUND_BODY;
});
app.use(router.routes());

announce(app.listen(0, '127.0.0.1'), refill);
