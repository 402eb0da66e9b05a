import { once } from 'node:events';
import { lstat, rm } from 'node:fs/promises';
import { type AddressInfo, connect, type Server } from 'node:net';
import { messageOf } from '../../message-of.js';

/** Where a server listens. `port` can also be the path of a unix socket. */
export interface Place {
  readonly host: string;
  readonly port: number | string;
  /** The name of the option that set the port. */
  readonly flag: '--port' | '--metrics-port';
}

/** Resolves once the server listens. If it cannot, rejects with a sentence for the user. */
export async function listen(server: Server, { host, port, flag }: Place): Promise<void> {
  const isSocket = typeof port === 'string';
  // The old socket is removed before `listen`, not after a failure. A worker that called `listen`
  // twice would not share its socket with the others, because the cluster module counts the calls.
  // If the old socket cannot be removed, `listen` reports that it is in use.
  if (isSocket && (await isLeftOver(port))) await rm(port).catch(() => {});
  try {
    await once(server.listen(isSocket ? { path: port } : { host, port }), 'listening');
  } catch (error) {
    const place = isSocket ? `the unix socket ${port}` : `port ${port} on ${host}`;
    const options = isSocket ? flag : `--host (or HOST) and ${flag}`;
    const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    if (isInUse) throw new Error(`${place} is in use; choose another with ${flag}`);
    throw new Error(`cannot listen on ${place}: ${messageOf(error)}; check ${options}`);
  }
  // Later errors are ignored. They mean that a single connection could not be accepted.
  server.on('error', () => {});
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
