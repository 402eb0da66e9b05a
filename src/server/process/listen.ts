import { lstat, rm } from 'node:fs/promises';
import { type AddressInfo, connect, type Server } from 'node:net';

/** Where a server listens. `port` can also be the path of a unix socket. */
export interface Place {
  readonly host: string;
  readonly port: number | string;
  /** The name of the option that set the port. */
  readonly flag: '--port' | '--metrics-port';
}

const ADVICE: ReadonlyMap<string, string> = new Map([
  ['EADDRNOTAVAIL', '; this machine does not have that address; check --host'],
  ['ENOTFOUND', '; this host name has no address; check --host'],
  ['EACCES', '; this user may not listen on it; use a port of 1024 or higher'],
]);

/** Resolves to the reason why the server cannot listen, or to `undefined` once it listens. */
export async function listen(server: Server, { host, port, flag }: Place): Promise<string | undefined> {
  if (typeof port === 'string') {
    const error = await listenOnSocket(server, port);
    if (error?.code === 'EADDRINUSE') return `the unix socket ${port} is in use; choose another path with ${flag}`;
    return error && `cannot listen on the unix socket ${port}: ${error.code ?? error.message}`;
  }
  const error = await tryToListen(server, { host, port });
  if (error?.code === 'EADDRINUSE')
    return `port ${port} on ${host} is in use; choose another with ${flag}, or 0 for a free one`;
  const advice = ADVICE.get(error?.code ?? '') ?? '';
  return error && `cannot listen on port ${port} on ${host}: ${error.code ?? error.message}${advice}`;
}

type Failure = NodeJS.ErrnoException | undefined;

/** Listens on a unix socket. First removes the socket that a killed server has left. */
async function listenOnSocket(server: Server, path: string): Promise<Failure> {
  // The order matters. The cluster module numbers the calls of `listen` for a path, and workers
  // share a socket only if their calls have the same number. So `listen` is called only once.
  if (await isLeftOver(path)) {
    const error = await rm(path, { force: true }).catch((error: NodeJS.ErrnoException) => error);
    if (error !== undefined) return error;
  }
  return tryToListen(server, { path });
}

function tryToListen(server: Server, place: { host: string; port: number } | { path: string }): Promise<Failure> {
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
  return stats?.isSocket() === true && (await isRefused(path));
}

function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}

/** Returns the address on which the server listens, or `undefined` for a unix socket. */
export function portOf(server: Server): AddressInfo | undefined {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address : undefined;
}
