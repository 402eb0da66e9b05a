import type { Server, Socket } from 'node:net';
import type { OrderService } from 'store-orders';
import { listenOnFreePort } from '../../../support/listen.js';

/**
 * A host in which the service is mounted in the usual way of the host's framework. Each of its
 * responses has the header fields `X-Host` and `Vary: Origin`. It has the route `/host`, and responds
 * with 404 to the other paths that the service does not own.
 */
export interface Mount {
  readonly name: string;
  /** The packages in which it is mounted. Default: none, which is Node.js itself. */
  readonly packages?: readonly string[];
  /** Whether the host was configured to trust one proxy, in the framework's own way. */
  readonly trustsProxy?: true;
  /**
   * Whether the host is called without a connection. The caller then gets a complete response, or
   * none.
   */
  readonly isEmulated?: true;
  /**
   * Opens the host. With a prefix, the service is mounted under it, and the service's base path
   * begins with it.
   */
  readonly open: (service: OrderService, prefix?: string) => Promise<Mounted>;
}

export interface Mounted {
  readonly origin: string;
  /** Default: the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
  readonly close: () => Promise<unknown>;
}

/** Listens on a free port of the loopback interface. Returns the open connections too. */
export async function listening(
  server: Server,
  scheme: 'http' | 'https' = 'http',
): Promise<Mounted & { readonly port: number; readonly sockets: ReadonlySet<Socket> }> {
  server.unref();
  // An http2 server does not close its own HTTP/1.1 connections.
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const port = await listenOnFreePort(server);
  return {
    origin: `${scheme}://127.0.0.1:${port}`,
    port,
    sockets,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export const OF_THE_HOST = 'of the host';

/** Sets the fields of the host. With `next`, it acts as a middleware. */
export function setHostFields(
  _request: unknown,
  response: { setHeader(name: string, value: string): unknown },
  next?: () => void,
): void {
  response.setHeader('X-Host', 'yes');
  response.setHeader('Vary', 'Origin');
  next?.();
}

/** A host without a framework that takes a Request, and passes its further arguments to `orders`. */
export function fetchHost<Context extends unknown[]>(
  service: OrderService,
  orders: (request: Request, ...context: Context) => Promise<Response>,
) {
  return async (request: Request, ...context: Context): Promise<Response> => {
    const status = new URL(request.url).pathname === '/host' ? 200 : 404;
    const isOwned = service.owns(request.url);
    const response = isOwned ? await orders(request, ...context) : new Response(OF_THE_HOST, { status });
    response.headers.set('X-Host', 'yes');
    response.headers.append('Vary', 'Origin');
    return response;
  };
}
