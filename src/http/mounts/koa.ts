import { Readable } from 'node:stream';
import { types } from 'node:util';
import { isPieces, type Reply, setFields, withHostFields } from '../reply.js';
import { type RequestHead, withTarget } from '../request.js';
import { checkService, type OrderService } from '../service/service.js';
import { enqueue } from './node-internals.js';
import { contentOf, type NodeResponse } from './node-reply.js';
import { respondBeforeErrors } from './node-server.js';
import { createPrefixWarning } from './warnings.js';

/** The part of Koa's context that the mount uses. */
interface KoaContextLike {
  readonly req: RequestHead;
  readonly res: NodeResponse;
  readonly originalUrl: string;
  readonly ip: string;
  readonly response: { get(name: string): unknown };
  status: number;
  body: unknown;
  onerror(error: Error): void;
  set(name: string, value: string | string[]): void;
}

/**
 * Creates a middleware that mounts the service in Koa 3. Requests for other paths are passed to
 * `next`. The response is sent by Koa, so header fields that other middleware sets are kept. To
 * disconnect clients that stop reading, set the server's `timeout`. The client's address is
 * `ctx.ip`, which follows the app's `proxy` options.
 * @example
 * ```ts
 * import Koa from 'koa';
 * import { koaMiddleware } from 'store-orders/koa';
 * import { createTestService } from 'store-orders/testing';
 *
 * const { service } = createTestService(); // in production: createOrderService
 * const app = new Koa();
 * app.use(koaMiddleware(service));
 * ```
 */
export function koaMiddleware(
  service: OrderService,
): (ctx: KoaContextLike, next: () => Promise<unknown>) => Promise<void> {
  checkService(service, ['respond', 'owns']);
  const warnOfPrefix = createPrefixWarning(service);
  return async (ctx, next) => {
    // The target is read from `originalUrl`, because Koa's routers and mounts rewrite `url`.
    const { req, originalUrl: url } = ctx;
    if (!service.owns(url)) {
      warnOfPrefix(url, req.url ?? '');
      await next();
      return;
    }
    enqueue(ctx.res);
    respondBeforeErrors(ctx.res);
    send(ctx, await service.respond(withTarget(req, url), () => ctx.ip));
  };
}

function send(ctx: KoaContextLike, { status, headers, body }: Reply): void {
  ctx.status = status;
  // The header fields come last, because Koa sets some of its own when it receives the body. A body
  // of `undefined` would make the response a 204.
  if (body !== undefined) {
    const content = isPieces(body) ? contentOf(body, ctx.res) : body;
    if (content instanceof Readable) {
      // Since version 24, Node.js does not end a stream that is piped to a closed response.
      if (ctx.res.destroyed) content.destroy();
      // Middleware such as `koa-compress` pipes the stream into its own, which would then never end.
      content.once('error', (error) => ctx.res.headersSent || ctx.onerror(error));
    }
    ctx.body = types.isUint8Array(content) ? Buffer.from(content.buffer, content.byteOffset, content.length) : content;
  }
  setFields(
    withHostFields(headers, (name) => ctx.response.get(name)),
    (name, value) => ctx.set(name, value),
  );
}
