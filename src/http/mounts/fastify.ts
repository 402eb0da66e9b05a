import { after } from '../maybe-promise.js';
import { isPieces, type Reply, setFields, withHostFields } from '../reply.js';
import type { RequestHead } from '../request.js';
import { checkService, type OrderService } from '../service/service.js';
import { enqueue } from './node-internals.js';
import { contentOf, type NodeResponse } from './node-reply.js';

/** The part of Fastify that the mount uses. Not exported, so that editors suggest Fastify's type. */
interface FastifyInstanceLike {
  readonly prefix: string;
  all(
    path: string,
    options: { readonly schema: object },
    handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => unknown,
  ): unknown;
  addContentTypeParser(
    type: '*',
    parser: (request: unknown, payload: unknown, done: (error: null) => void) => void,
  ): unknown;
  addHook(name: 'onRequest', hook: (request: FastifyRequestLike, reply: unknown, done: () => void) => void): unknown;
}

interface FastifyRequestLike {
  readonly raw: RequestHead & { readonly headers: { 'content-type'?: string | undefined } };
  readonly ip: string;
}

interface FastifyReplyLike {
  readonly raw: NodeResponse;
  code(status: number): unknown;
  getHeader(name: string): unknown;
  header(name: string, value: string | string[]): unknown;
  serializer(print: (payload: unknown) => string): unknown;
  send(payload?: unknown): unknown;
  callNotFound(): unknown;
}

/** Hides the routes from `@fastify/swagger`: the service has an OpenAPI document of its own. */
const UNLISTED = { schema: { hide: true } };

/**
 * Creates a plugin that mounts the service in Fastify 5, also under NestJS:
 * `app.register(fastifyPlugin(service))`. The response is sent through Fastify's reply, so the
 * host's hooks run and the headers that they set are kept. The host's content parsers are bypassed,
 * because they refuse a DELETE with a JSON content type and an empty body. To disconnect clients
 * that stop reading, set the app's `connectionTimeout`. The client's address is `request.ip`, which
 * follows the app's `trustProxy`. Throws unless the plugin's `prefix`, if any, is the beginning of
 * the service's `basePath` and of its `paths`.
 * @example
 * ```ts
 * import { fastify } from 'fastify';
 * import { fastifyPlugin } from 'store-orders/fastify';
 * import { createTestService } from 'store-orders/testing';
 *
 * const { service } = createTestService(); // in production: createOrderService
 * const app = fastify({ trustProxy: 'loopback' });
 * app.register(fastifyPlugin(service));
 * ```
 */
export function fastifyPlugin(service: OrderService): (app: FastifyInstanceLike) => Promise<void> {
  checkService(service, ['respond', 'owns']);
  return async (app) => {
    const { prefix } = app;
    const places = [['basePath', service.basePath], ...service.paths.map((path) => ['path', path])];
    const other = places.find(([, path]) => path?.startsWith(prefix) !== true);
    if (other !== undefined) {
      throw new TypeError(`prefix: expected the beginning of the service's ${other[0]} "${other[1]}", not "${prefix}"`);
    }
    const handle = (request: FastifyRequestLike, reply: FastifyReplyLike): unknown => {
      // Fastify's router decodes the path, and can be configured to ignore case and slashes.
      if (!service.owns(request.raw.url ?? '')) return reply.callNotFound();
      enqueue(reply.raw);
      return after(
        service.respond(request.raw, () => request.ip),
        (prepared) => send(reply, prepared),
      );
    };
    // No body is read (RFC 9110 §9.3.5), so every content type is accepted, even an invalid one.
    app.addContentTypeParser('*', (_request, _content, done) => done(null));
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      delete raw.headers['content-type'];
      done();
    });
    // In Fastify's router a colon begins a parameter, and two stand for a literal colon.
    const routeOf = (path: string) => path.slice(prefix.length).replaceAll(':', '::');
    const collection = routeOf(`${service.basePath}/store/orders`);
    // The host's settings limit the length of a parameter, but not of a wildcard.
    for (const route of [collection, `${collection}/*`, ...service.paths.map(routeOf)]) {
      app.all(route, UNLISTED, handle);
    }
  };
}

function send(reply: FastifyReplyLike, { status, headers, body }: Reply): unknown {
  reply.code(status);
  setFields(
    withHostFields(headers, (name) => reply.getHeader(name)),
    (name, value) => void reply.header(name, value),
  );
  // Without a serializer, Fastify would add a charset to the content type of a string.
  if (typeof body === 'string') reply.serializer(() => body);
  return reply.send(isPieces(body) ? contentOf(body, reply.raw) : body);
}
