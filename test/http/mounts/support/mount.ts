import type { Server } from 'node:net';
import type { OrderService } from 'store-orders';
import { listenOnFreePort } from '../../../support/listen.js';

/**
 * A host with hooks and routes of its own, in which the service is mounted in the usual way of the
 * host's framework.
 */
export interface Mount {
  readonly name: string;
  /** The headers that the host's hooks set on every response of the host and of the service. */
  readonly hooks: readonly string[];
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

/** Listens on a free port of the loopback interface. */
export async function listening(
  server: Server & { closeAllConnections?(): void },
  scheme: 'http' | 'https' = 'http',
): Promise<Mounted> {
  server.unref();
  return {
    origin: `${scheme}://127.0.0.1:${await listenOnFreePort(server)}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections?.();
      }),
  };
}
