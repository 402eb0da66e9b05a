import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { checkFields, checkPublicUrl, checkWholeNumber, DEFAULTS } from '../check.js';
import {
  createOrderService,
  forwardedAddress,
  type NodeRequest,
  nodeHandler,
  type OrderServiceOptions,
} from '../http/index.js';
import { createForwardedWarning } from '../http/mounts/warnings.js';
import { SERVICE_FIELDS, SERVICE_REQUIRED } from '../http/service/service.js';
import { connectionLimit } from './connection-limit.js';
import { createConnections } from './connections.js';
import { docsPaths } from './docs/paths.js';
import { type Backends, checkBackends, createProbes } from './health.js';
import { withOwnPaths } from './own-paths.js';

export interface OrderServerOptions extends OrderServiceOptions {
  /**
   * The address at which clients reach the server, without the base path, for the documentation:
   * `https://shop.example/shop`. Default: unknown.
   */
  readonly publicUrl?: string | undefined;
  /** The number of trusted proxies in front of the server. Default: 0. */
  readonly trustProxy?: number | undefined;
  /**
   * The maximum number of open connections for each client address, or for each /64 of IPv6. 0 for
   * no limit. Default: 1,024. There is no limit behind proxies.
   */
  readonly maxConnectionsPerAddress?: number | undefined;
  /**
   * The backends that `GET /readyz` checks. It responds with 503 if one is unavailable, or while
   * the server drains. Default: none.
   */
  readonly backends?: Backends | undefined;
}

/** A `node:http` server that does not listen until `listen` is called. */
export interface OrderServer extends Server {
  /**
   * Stops accepting connections. Responds to requests that have arrived or are on their way, with
   * `Connection: close`. A connection without a request is closed after half a second. Resolves
   * when all connections are closed and all calls to the store have settled. After `graceMs`
   * (default 6,000), it cuts off the connections that are still open, and waits for no call. A
   * second call waits for the first.
   */
  drain(graceMs?: number): Promise<void>;
}

const SECOND_MS = 1_000;
const SERVER_OPTIONS = {
  // A request gets 408 if its head takes longer to arrive than `headersTimeout`, or if the whole
  // request takes longer than `requestTimeout`.
  headersTimeout: 10 * SECOND_MS,
  requestTimeout: 30 * SECOND_MS,
  connectionsCheckingInterval: 2 * SECOND_MS,
  // From Node.js 24 on, this saves the body stream of a request without a body.
  optimizeEmptyRequests: true,
};

/** How long an idle connection stays open. */
const KEEP_ALIVE_MS = 15 * SECOND_MS;
/** The same behind a proxy, which has to close first, or could lose a request. Cloudflare waits for 900 s. */
const PROXY_KEEP_ALIVE_MS = 910 * SECOND_MS;
/** A connection without any activity for this long is closed. */
const SILENT_MS = 120 * SECOND_MS;
const GRACE_MS = 6 * SECOND_MS;
/** How long a draining server waits on idle connections for requests that are on their way. */
const LINGER_MS = 500;

/**
 * Creates a server for the service, with health checks, the OpenAPI document and a documentation
 * page. Throws a TypeError or RangeError that names an invalid option.
 */
export function createOrderServer(options: OrderServerOptions): OrderServer {
  const ownFields = ['publicUrl', 'trustProxy', 'maxConnectionsPerAddress', 'backends'] as const;
  checkFields('options', options, [...SERVICE_FIELDS, ...ownFields], SERVICE_REQUIRED);
  const { publicUrl, trustProxy = DEFAULTS.trustProxy, backends = {}, ...serviceAndLimit } = options;
  const { maxConnectionsPerAddress = DEFAULTS.maxConnectionsPerAddress, ...serviceOptions } = serviceAndLimit;
  checkWholeNumber('maxConnectionsPerAddress', maxConnectionsPerAddress, 0);
  checkWholeNumber('trustProxy', trustProxy, 0);
  checkPublicUrl(publicUrl);
  checkBackends(backends);
  const isDirect = trustProxy === 0;
  const addressOf = forwardedAddress(trustProxy);
  const keepAliveMs = isDirect ? KEEP_ALIVE_MS : PROXY_KEEP_ALIVE_MS;
  const connections = createConnections({
    most: connectionLimit(),
    mostPerAddress: isDirect && maxConnectionsPerAddress > 0 ? maxConnectionsPerAddress : Number.POSITIVE_INFINITY,
    // The head of a request that began just before the idle time ended may still be arriving.
    idleMs: () => Math.max(keepAliveMs, server.keepAliveTimeout) + SERVER_OPTIONS.headersTimeout,
  });
  let drained: Promise<void> | undefined;

  const warnOfProxy = createForwardedWarning('set trustProxy (--trust-proxy N) to the number of proxies');
  const docs = docsPaths({ basePath: options.basePath, publicUrl });
  const probes = createProbes(backends, () => drained !== undefined);
  const paths = withOwnPaths(options.paths, docs, probes);
  const service = createOrderService({ ...serviceOptions, paths });
  const handler = nodeHandler(service, { clientAddress, onReply: connections.recordReply });

  function clientAddress(request: NodeRequest): string | undefined {
    if (isDirect) warnOfProxy(request);
    return addressOf(request);
  }

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    connections.recordRequest(request.socket, response);
    if (drained !== undefined) response.setHeader('Connection', 'close');
    handler(request, response);
  }

  const server = handler.attach(createServer(SERVER_OPTIONS, onRequest));
  server.keepAliveTimeout = keepAliveMs;
  server.timeout = SILENT_MS;
  // A request with `Expect: 100-continue` gets its final response without a `100 Continue`, because
  // the server never reads a body.
  server.on('checkContinue', onRequest);
  server.on('connection', connections.add);

  async function close(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => server.once('close', resolve));
    // The `close` of node:http would also destroy connections whose response is complete but not
    // sent.
    NetServer.prototype.close.call(server);
    connections.closeAll(LINGER_MS);
    await new Promise<void>((resolve) => {
      const cutOff = setTimeout(resolve, graceMs);
      // A call to the store can outlast the connection of its client, and may never settle.
      void closed.then(service.close).then(() => {
        clearTimeout(cutOff);
        resolve();
      });
    });
    connections.destroyAll();
    await closed;
    // Stops node:http's check for slow connections. All connections are already closed.
    server.close();
  }

  return Object.assign(server, {
    drain(graceMs = GRACE_MS) {
      drained ??= close(graceMs);
      return drained;
    },
  });
}
