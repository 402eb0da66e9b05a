import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { createOrderService, forwardedAddress, nodeHandler, type OrderServiceOptions } from '../../http/index.js';
import { inTurn } from '../../http/mounts/turns.js';
import { isMalformed } from '../../http/request-head.js';
import { createDocs } from '../docs/answer.js';
import { createConnections } from './connections.js';
import { answerHealth, type Backends } from './health.js';

export interface OrderServerOptions extends OrderServiceOptions {
  /** How many trusted proxies stand before the server. Default: 0. */
  readonly trustProxy?: number | undefined;
  /** What `GET /readyz` tells of: 503 if one is out of order, as while the server drains. Default: none. */
  readonly backends?: Backends | undefined;
}

/** A `node:http` server, not yet listening. */
export interface OrderServer extends Server {
  /**
   * Takes no more connections, and lets the requests that are there or on their way finish, their answers saying
   * `Connection: close`. A connection without one is closed after half a second. Resolves when all is closed; what is
   * not by then is cut off after `graceMs` (default 6,000).
   */
  drain(graceMs?: number): Promise<void>;
}

const SECOND_MS = 1_000;
const SERVER_OPTIONS = {
  // Slow clients: a head, and a request, that takes longer than this is answered 408. Looked at every 5 s, not Node's 30.
  headersTimeout: 10 * SECOND_MS,
  requestTimeout: 30 * SECOND_MS,
  connectionsCheckingInterval: 5 * SECOND_MS,
  // Longer than the 60 s that proxies keep idle connections: else one sends into a connection that is just closing.
  keepAliveTimeout: 65 * SECOND_MS,
  // Node ≥ 24: no body stream is made for a request that has no body. Older versions ignore it.
  optimizeEmptyRequests: true,
};

/** A connection on which nothing at all happens for this long is closed; who reads nothing of an answer, sooner. */
const SILENT_MS = 120 * SECOND_MS;
const GRACE_MS = 6 * SECOND_MS;
/** Longer than a request is on its way. */
const LINGER_MS = 500;

/**
 * The service as a server of its own, with health checks, its OpenAPI document and a documentation page beside it. Throws as
 * `createOrderService` does for a bad option.
 */
export function createOrderServer(options: OrderServerOptions): OrderServer {
  const { trustProxy = 0, backends = {}, ...serviceOptions } = options;
  const service = createOrderService(serviceOptions);
  const handle = nodeHandler(service, trustProxy === 0 ? {} : { clientAddress: forwardedAddress(trustProxy) });
  const answerDocs = createDocs(serviceOptions.basePath);
  const connections = createConnections();
  let isDraining = false;

  const answer = inTurn((request: IncomingMessage, response: ServerResponse) => {
    if (service.owns(request.url ?? '') || isMalformed(request)) handle(request, response);
    else if (answerHealth(request, response, isDraining, backends)) return;
    else if (!answerDocs(request, response)) handle(request, response);
  });

  function receive(request: IncomingMessage, response: ServerResponse): void {
    connections.answering(request.socket, response);
    if (isDraining) response.shouldKeepAlive = false;
    answer(request, response);
  }

  const server = handle.attach(createServer(SERVER_OPTIONS, receive));
  server.timeout = SILENT_MS;
  // Such a request gets its final answer at once: none of ours reads a body.
  server.on('checkContinue', receive);
  server.on('connection', connections.add);

  async function drain(graceMs = GRACE_MS): Promise<void> {
    isDraining = true;
    const closed = new Promise<void>((resolve) => server.once('close', resolve));
    // Not http's own `close`: that also destroys connections whose answer is complete but not yet sent.
    NetServer.prototype.close.call(server);
    const cutOff = setTimeout(connections.destroyAll, graceMs);
    connections.closeAll(LINGER_MS);
    await closed;
    // Nothing is open any more; this ends http's own watch over slow connections.
    server.close();
    clearTimeout(cutOff);
    await service.close();
  }

  return Object.assign(server, { drain });
}
