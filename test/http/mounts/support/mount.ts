import type { Server } from 'node:net';
import type { OrderService } from 'store-orders';

/** A way to reach the service: a host with hooks and routes of its own, in which it is mounted as the host's users expect it. */
export interface Mount {
  readonly name: string;
  /** What the host's hooks set on every response, whoever answers. */
  readonly hooks: readonly string[];
  /** Whether it was told to trust one proxy, by the framework's own rule. */
  readonly trustsProxy?: true;
  /** Whether it has no connection: what calls it gets a whole answer, or none. */
  readonly isEmulated?: true;
  /** Opens the host; with a prefix, the service's base path begins with it, and it is mounted under it. */
  readonly open: (service: OrderService, prefix?: string) => Promise<Mounted>;
}

export interface Mounted {
  readonly origin: string;
  /** Default: the global one. */
  readonly fetch?: (request: Request) => Promise<Response>;
  readonly close: () => Promise<unknown>;
}

/** Listens on a free port of the loopback interface. */
export async function listening(
  server: Server & { closeAllConnections?(): void },
  scheme: 'http' | 'https' = 'http',
): Promise<Mounted> {
  server.unref();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `${scheme}://127.0.0.1:${portOf(server.address())}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections?.();
      }),
  };
}

function portOf(address: ReturnType<Server['address']>): number {
  if (typeof address !== 'object' || address === null) throw new TypeError('the server listens on no port');
  return address.port;
}
