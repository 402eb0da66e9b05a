import { Readable } from 'node:stream';
import { checkMethods } from '../options.js';
import { forEachField, type Reply } from '../reply.js';
import type { RequestHead } from '../request-head.js';
import type { OrderService } from '../service.js';
import { withVary } from './vary.js';

/**
 * What the mount uses of a Fastify instance; not exported, so that no editor offers it instead of
 * the real one.
 */
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
  readonly raw: { readonly headersSent: boolean; destroy(error: Error): unknown };
  code(status: number): unknown;
  getHeader(name: string): unknown;
  header(name: string, value: string): unknown;
  serializer(print: (payload: unknown) => string): unknown;
  send(payload?: unknown): unknown;
  callNotFound(): unknown;
}

/** `@fastify/swagger` would list each route once for each method. The service has a document of its own. */
const UNLISTED = { schema: { hide: true } };

/**
 * Mounts the service in Fastify 5: `app.register(fastifyPlugin(service))`, also under NestJS. The
 * reply is Fastify's own, so that the host's hooks and the headers that they set stay; the host's
 * parsers, which refuse a DELETE that says JSON and has no content, do not see it. To drop readers
 * who take nothing is the host's business, by the `connectionTimeout` of the app. The client's
 * address is `request.ip`, which follows the `trustProxy` option of the app. A `prefix` that the
 * plugin is registered with must be the beginning of the service's `basePath`; else it throws.
 */
export function fastifyPlugin(service: OrderService): (app: FastifyInstanceLike) => Promise<void> {
  checkMethods('service', service, ['respond', 'owns']);
  return async (app) => {
    const { prefix } = app;
    if (!service.basePath.startsWith(prefix)) {
      throw new TypeError(`prefix: expected the beginning of the service's basePath, ${service.basePath}`);
    }
    const answer = (request: FastifyRequestLike, reply: FastifyReplyLike): unknown => {
      // Fastify's router decodes, and may be told to ignore case and slashes.
      if (!service.owns(request.raw.url ?? '')) return reply.callNotFound();
      const answered = service.respond(request.raw, () => request.ip);
      const isMultiplexed = 'stream' in request.raw;
      if (!(answered instanceof Promise)) return send(reply, answered, isMultiplexed);
      return answered.then((settled) => send(reply, settled, isMultiplexed));
    };
    // Content is not read (RFC 9110 §9.3.5), so nothing about it is refused: not even a type that
    // is none.
    app.addContentTypeParser('*', (_request, _content, done) => done(null));
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      delete raw.headers['content-type'];
      done();
    });
    // To the router a colon begins a parameter; two are one.
    const collection = `${service.basePath.slice(prefix.length)}/store/orders`.replaceAll(':', '::');
    app.all(collection, UNLISTED, answer);
    // A parameter would be limited in length by the host's settings.
    app.all(`${collection}/*`, UNLISTED, answer);
  };
}

function send(reply: FastifyReplyLike, { status, headers, body }: Reply, isMultiplexed: boolean): unknown {
  reply.code(status);
  forEachField(withVary(headers, reply.getHeader('Vary')), (name, value) => void reply.header(name, value));
  // Without a serializer Fastify adds a charset to the type of a text.
  if (typeof body === 'string') reply.serializer(() => body);
  if (typeof body !== 'object' || !(Symbol.asyncIterator in body)) return reply.send(body);
  const stream = Readable.from(body);
  if (isMultiplexed) {
    // Fastify would end the HTTP/2 stream without an error, as if the torso were the whole.
    stream.once('error', (error) => reply.raw.headersSent && reply.raw.destroy(error));
  }
  return reply.send(stream);
}
