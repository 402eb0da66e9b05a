import { lstat, unlink } from 'node:fs/promises';
import { type AddressInfo, connect, type Server } from 'node:net';

/** Where a server listens. `port` can also be the path of a unix socket. */
export interface Place {
  readonly host: string;
  readonly port: number | string;
  /** The name of the option that set the port. */
  readonly flag: '--port' | '--metrics-port';
  /** True if workers do not share the port. */
  readonly exclusive?: boolean;
}

/** Resolves to the reason why the server cannot listen, or to `undefined` once it listens. */
export async function listen(server: Server, place: Place): Promise<string | undefined> {
  const { host, port, flag } = place;
  const error = await tryToListen(server, place);
  if (error?.code !== 'EADDRINUSE') return error && `cannot listen on ${nameOf(place)}: ${error.code ?? error.message}`;
  if (typeof port === 'number')
    return `port ${port} on ${host} is in use; choose another with ${flag}, or 0 for a free one`;
  if (!(await isLeftOver(port))) return `the unix socket ${port} is in use; choose another path with ${flag}`;
  await unlink(port);
  const again = await tryToListen(server, place);
  return again && `cannot listen on ${nameOf(place)}: ${again.code ?? again.message}`;
}

function nameOf({ host, port }: Place): string {
  return typeof port === 'number' ? `port ${port} on ${host}` : `the unix socket ${port}`;
}

function tryToListen(server: Server, { host, port, exclusive }: Place): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    server.once('error', resolve);
    server.listen({ ...(typeof port === 'number' ? { host, port } : { path: port }), exclusive }, () => {
      server.off('error', resolve);
      // Later errors are about a connection that could not be accepted.
      server.on('error', () => {});
      resolve(undefined);
    });
  });
}

/**
 * Reports whether the file is the socket of a server that was killed: connecting to it is refused.
 */
async function isLeftOver(path: string): Promise<boolean> {
  return (await lstat(path)).isSocket() && (await isRefused(path));
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
