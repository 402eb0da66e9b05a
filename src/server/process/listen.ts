import { lstat, mkdir, rm, rmdir } from 'node:fs/promises';
import { type AddressInfo, connect, type Server } from 'node:net';
import { setTimeout } from 'node:timers/promises';

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
  if (typeof port === 'string') return listenAlone(server, place, port);
  if (port > 65_535) return `port ${port} does not exist; choose a lower one with ${flag}`;
  const error = await tryToListen(server, place);
  if (error?.code === 'EADDRINUSE')
    return `port ${port} on ${host} is in use; choose another with ${flag}, or 0 for a free one`;
  const advice = ADVICE.get(error?.code ?? '') ?? '';
  return error && `cannot listen on port ${port} on ${host}: ${error.code ?? error.message}${advice}`;
}

const ADVICE: ReadonlyMap<string, string> = new Map([
  ['EADDRNOTAVAIL', '; this machine does not have the address, check --host'],
  ['ENOTFOUND', '; this host name has no address, check --host'],
  ['EACCES', '; this user needs a port from 1024 up'],
]);

/**
 * Listens on a unix socket, under a lock. Without the lock, two servers could both find the old
 * socket of a killed server, and the second would then remove the new socket of the first.
 */
async function listenAlone(server: Server, place: Place, path: string): Promise<string | undefined> {
  const lock = `${path}.lock`;
  const locked = await take(lock);
  if (locked !== undefined) return `cannot listen on the unix socket ${path}: cannot lock ${lock}: ${locked.code}`;
  try {
    // `listen` must be called only once. The cluster module numbers the calls of each worker for a
    // path, and workers share a socket only if their calls have the same number.
    const error =
      ((await isLeftOver(path)) ? await failureOf(rm(path, { force: true })) : undefined) ??
      (await tryToListen(server, place));
    if (error?.code === 'EADDRINUSE')
      return `the unix socket ${path} is in use; choose another path with ${place.flag}`;
    return error && `cannot listen on the unix socket ${path}: ${error.code ?? error.message}`;
  } finally {
    await failureOf(rmdir(lock));
  }
}

/**
 * A server holds the lock only for milliseconds. A lock that is older than this was left by a
 * killed server.
 */
const ABANDONED_MS = 10_000;

/** Takes the lock by creating a directory. Waits while another server holds the lock. */
async function take(lock: string): Promise<Failure> {
  for (;;) {
    const error = await failureOf(mkdir(lock));
    if (error?.code !== 'EEXIST') return error;
    const stats = await lstat(lock).catch(() => undefined);
    const ageMs = stats === undefined ? 0 : Math.abs(Date.now() - stats.mtimeMs);
    const stuck = ageMs > ABANDONED_MS ? await failureOf(rmdir(lock)) : undefined;
    if (stuck !== undefined && stuck.code !== 'ENOENT') return stuck;
    await setTimeout(10);
  }
}

type Failure = NodeJS.ErrnoException | undefined;

function failureOf(work: Promise<unknown>): Promise<Failure> {
  return work.then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error,
  );
}

function tryToListen(server: Server, { host, port, exclusive }: Place): Promise<Failure> {
  return new Promise((resolve) => {
    server.once('error', resolve);
    server.listen({ ...(typeof port === 'number' ? { host, port } : { path: port }), exclusive }, () => {
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
