import type { SendCommand } from '../../limits/redis/limiter.js';
import { messageOf } from '../../message-of.js';
import { ifInstalled } from '../installed.js';
import type { RedisAddress } from '../settings/urls.js';

const CONNECT_MS = 2_000;
const RETRY_MS = { first: 50, longest: 1_000 };

/**
 * Connects to Redis. The connection reconnects by itself. While it is down, commands fail
 * immediately. Resolves after the first connection, the first failure or {@link CONNECT_MS}. Rejects
 * if the driver is not installed.
 */
export async function connectRedis(address: RedisAddress) {
  const client = await createClient(address);
  let failure: Error | undefined;
  await new Promise<void>((resolve) => {
    client.on('ready', () => resolve());
    // While the client is not connected, commands fail with the last failure.
    client.on('error', (error) => {
      // After a disconnect, the driver's own next command fails. That is not the reason.
      if (error.message.startsWith("Stream isn't writeable")) return;
      failure = new Error(withoutPassword(messageOf(error.lastNodeError ?? error), address));
      // Otherwise the driver would go on with database 0.
      if (error.command?.name === 'select') client.disconnect(true);
      resolve();
    });
    setTimeout(resolve, CONNECT_MS).unref();
  });
  let isWrong = false;
  const isConnected = () => client.status === 'ready' && !isWrong;

  const send: SendCommand = async (command) => {
    // The error of `client.call` would not contain the reason.
    if (!isConnected()) throw failure ?? new Error('not connected');
    try {
      const reply = await client.call(...command);
      // Only a reply ends a failure: version 5 of the driver reports `ready` after a wrong password too.
      if (isConnected()) failure = undefined;
      return reply;
    } catch (error) {
      if (!messageOf(error).startsWith('MOVED ')) throw error;
      // This server is one node of a cluster, and is not used at all. If it counted its own part of
      // the keys, the wrong setting would hardly be noticed.
      isWrong = true;
      client.disconnect();
      failure = new Error(ONE_OF_A_CLUSTER);
      throw failure;
    }
  };

  return { send, isConnected, close: () => client.disconnect() };
}

const ONE_OF_A_CLUSTER =
  'this server is part of a cluster; name several of its nodes, or one name twice, separated by commas';

/** The part of ioredis that the program uses. */
interface Client {
  readonly status: string;
  call(command: string, ...parameters: string[]): Promise<unknown>;
  on(event: 'ready' | 'error', listener: (error: DriverError) => void): unknown;
  disconnect(reconnect?: boolean): void;
}

interface DriverError extends Error {
  /** The command that the server refused. */
  readonly command?: { readonly name: string };
  /** Why a cluster cannot be used. The error itself only says that no node has answered. */
  readonly lastNodeError?: Error | null;
}

async function createClient({ nodes, db, tls, username, password }: RedisAddress): Promise<Client> {
  const { Redis, Cluster } = await ifInstalled(import('ioredis'), 'the Redis driver', 'ioredis');
  const retryDelayMs = (times: number) => Math.min(RETRY_MS.first * 2 ** (times - 1), RETRY_MS.longest);
  const options = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: {} }),
    // Looks names up in IPv4 and IPv6. Some versions of the driver look only for IPv4.
    family: 0,
    connectTimeout: CONNECT_MS,
    // Ends a connection whose server has disappeared without closing it. The client then resolves the
    // name again and reconnects.
    socketTimeout: CONNECT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // This server is no longer a primary, or has lost its replicas. Its name may now lead to the new
    // primary, so the client reconnects. Before Redis 7, the word is inside the error of a script.
    reconnectOnError: (error: Error) => /READONLY|MASTERDOWN|NOREPLICAS/.test(messageOf(error)),
  };
  const [node] = nodes;
  if (nodes.length === 1) return new Redis({ ...options, ...node, db, retryStrategy: retryDelayMs });
  return new Cluster([...nodes], {
    redisOptions: options,
    enableOfflineQueue: false,
    clusterRetryStrategy: retryDelayMs,
    // Connects by name, because a certificate is issued for a name, not for an address.
    dnsLookup: (host, callback) => callback(null, host),
  });
}

/** Hides the password. An old Redis repeats the arguments of an unknown command in its error. */
function withoutPassword(message: string, { password }: RedisAddress): string {
  return password === undefined ? message : message.replaceAll(password, '***');
}
