/**
 * Mounts the service in Koa 3 as a middleware, which keeps the header fields set by other
 * middleware. The client's address is `ctx.ip`.
 *
 *     node --import tsx examples/koa.ts
 */
import Koa from 'koa';
import { koaMiddleware } from 'store-orders/koa';
import { port, service } from './orders.ts';

const app = new Koa();
app.use(async (ctx, next) => {
  const startMs = performance.now();
  await next();
  ctx.set('Server-Timing', `total;dur=${performance.now() - startMs}`);
});
app.use(koaMiddleware(service));
app.use((ctx) => {
  if (ctx.path === '/') ctx.body = 'the host\n';
});

const server = app.listen(port, '127.0.0.1', () => console.log('listening on', server.address()));
