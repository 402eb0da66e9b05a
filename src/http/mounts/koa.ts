import { Readable } from 'node:stream';
import { checkMethods } from '../options.js';
import { forEachField, type Reply } from '../reply.js';
import { type RequestHead, withTarget } from '../request-head.js';
import type { OrderService } from '../service.js';
import { withVary } from './vary.js';

/** What the mount uses of Koa's context. */
interface KoaContextLike {
  readonly req: RequestHead;
  readonly originalUrl: string;
  readonly ip: string;
  readonly response: { get(name: string): unknown };
  status: number;
  body: unknown;
  set(name: string, value: string): void;
}

/**
 * Mounts the service in Koa 3: foreign paths go to `next`, and the reply is Koa's own, so that what
 * other middleware sets stays. To drop readers who take nothing is the host's business, by the
 * `timeout` of the server. The client's address is `ctx.ip`, which follows the `proxy` options of
 * the app.
 */
export function koaMiddleware(
  service: OrderService,
): (ctx: KoaContextLike, next: () => Promise<unknown>) => Promise<void> {
  checkMethods('service', service, ['respond', 'owns']);
  return async (ctx, next) => {
    // Koa's routers and mounts cut off and rewrite `url`.
    const { req, originalUrl: url } = ctx;
    if (!service.owns(url)) {
      await next();
      return;
    }
    send(ctx, await service.respond(withTarget(req, url), () => ctx.ip));
  };
}

function send(ctx: KoaContextLike, { status, headers, body }: Reply): void {
  ctx.status = status;
  // Before the headers, because Koa derives some from it; and an absent one is not set, because Koa
  // makes it a 204.
  if (body !== undefined) ctx.body = bodyOf(body);
  forEachField(withVary(headers, ctx.response.get('Vary')), (name, value) => ctx.set(name, value));
}

function bodyOf(body: Exclude<Reply['body'], undefined>): string | Buffer | Readable {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : Readable.from(body);
}
