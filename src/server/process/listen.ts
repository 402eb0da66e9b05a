import { lstat, rm } from 'node:fs/promises';
import { type AddressInfo, connect, type Server } from 'node:net';

/** Where a server listens. `port` can also be the path of a unix socket. */
export interface Place {
  readonly host: string;
  readonly port: number | string;
  /** The name of the option that set the port. */
  readonly flag: '--port' | '--metrics-port';
}

const ADVICE: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: '; this machine does not have that address; check --host and the variable HOST',
  ENOTFOUND: '; this host name has no address; check --host and the variable HOST',
  EACCES: '; this user may not listen on it; use a port of 1024 or higher',
};

/** Resolves to the reason why the server cannot listen, or to `undefined` once it listens. */
export async function listen(server: Server, { host, port, flag }: Place): Promise<string | undefined> {
  const isSocket = typeof port === 'string';
  // The old socket is removed before `listen`, not after a failure: workers share a socket only if
  // they call `listen` equally often. If the old one stays, `listen` reports that it is in use.
  if (isSocket && (await isLeftOver(port))) await rm(port, { force: true }).catch(() => {});
  const error = await tryToListen(server, isSocket ? { path: port } : { host, port });
  if (error === undefined) return undefined;
  const place = isSocket ? `the unix socket ${port}` : `port ${port} on ${host}`;
  const { code = error.message } = error;
  if (code === 'EADDRINUSE') return `${place} is in use; choose another with ${flag}`;
  return `cannot listen on ${place}: ${code}${isSocket ? '' : (ADVICE[code] ?? '')}`;
}

function tryToListen(
  server: Server,
  place: { readonly host?: string; readonly port?: number; readonly path?: string },
): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    server.once('error', resolve);
    server.listen(place, () => {
      server.off('error', resolve);
      // Later errors are ignored. They mean that a single connection could not be accepted.
      server.on('error', () => {});
      resolve(undefined);
    });
  });
}

/** Returns whether the file is a socket that refuses connections, because its server was killed. */
async function isLeftOver(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isSocket()) return false;
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}

/** Returns the address on which the server listens, or `undefined` for a unix socket. */
export function addressOf(server: Server): AddressInfo | undefined {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address : undefined;
}
