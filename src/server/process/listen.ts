import { lstat, unlink } from 'node:fs/promises';
import { type AddressInfo, connect, type Server } from 'node:net';

/** Where a server listens: `port` is also the path of a unix socket. */
export interface Place {
  readonly host: string;
  readonly port: number | string;
  /** The option that chose the port. */
  readonly flag: '--port' | '--metrics-port';
  /** Whether workers do not share the port. */
  readonly exclusive?: boolean;
}

/** Resolves with the reason why the server cannot listen, or with `undefined` once it listens. */
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

/** Whether the file is the socket of a server that was killed: nobody answers there. */
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

/** Where the server listens; of a unix socket there is none. */
export function portOf(server: Server): AddressInfo | undefined {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address : undefined;
}
