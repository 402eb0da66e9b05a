import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey } from '../../http/client-address.js';
import type { Reply } from '../../http/index.js';
import type { NodeRequest } from '../../http/mounts/node.js';

export interface ConnectionLimits {
  /** The maximum number of connections. */
  readonly most: number;
  /** The maximum number of connections of one address. */
  readonly mostPerAddress: number;
  /**
   * The time without a request after which a connection may be closed. It is closed no later than
   * after twice this time.
   */
  readonly idleMs: number;
}

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  newest: ServerResponse | undefined;
  /** `newest` as of the last sweep. */
  swept: ServerResponse | undefined;
  /**
   * Whether the last reply was charged to a key. `undefined` before the first reply: the key of a
   * customer may still be looked up.
   */
  hasKey: boolean | undefined;
}

/**
 * Tracks the open connections of a server. A connection is keyless if it has sent no request, or if
 * the last reply on it was charged to its address. At the maximum number of connections, or of
 * connections of one address, a new connection replaces the oldest keyless one. If there is no
 * keyless connection, the new one is closed.
 */
export function createConnections({ most, mostPerAddress, idleMs }: ConnectionLimits) {
  /** All connections. Both maps are ordered, oldest first. */
  const open = new Map<Socket, Connection>();
  const byAddress = new Map<string, Set<Connection>>();
  let sweeping: NodeJS.Timeout | undefined;

  function forget(connection: Connection): void {
    if (!open.delete(connection.socket)) return;
    if (open.size === 0) sweeping = void clearInterval(sweeping);
    const neighbours = byAddress.get(connection.address);
    neighbours?.delete(connection);
    if (neighbours?.size === 0) byAddress.delete(connection.address);
  }

  /** Closes the oldest keyless connection. Returns `false` if there is none. */
  function makeRoom(among: Iterable<Connection>): boolean {
    for (const connection of among) {
      const { socket, newest, hasKey } = connection;
      if (hasKey ?? newest !== undefined) continue;
      // The connection is forgotten now and not at its close event. Other connections could arrive
      // before that event, and this one must not be counted with them.
      forget(connection);
      socket.destroy();
      return true;
    }
    return false;
  }

  /**
   * Closes connections that have been idle since the last sweep. Node.js itself closes silent
   * connections earlier. But to Node.js any byte is activity, even a line break before a request.
   */
  function sweep(): void {
    for (const connection of open.values()) {
      const { socket, newest, swept } = connection;
      if (newest?.writableFinished && newest === swept) socket.destroy();
      connection.swept = newest;
    }
  }

  /**
   * Closes the connection after `lingerMs`, unless a newer request arrives first. In that case, the
   * response to the newer request closes the connection.
   */
  function closeUnlessUsed({ socket }: Connection, response: ServerResponse | undefined, lingerMs: number): void {
    function close(): void {
      const isArriving = response === undefined && socket.bytesRead > 0;
      if (open.get(socket)?.newest === response && !isArriving) socket.destroy();
    }
    // `setImmediate` runs `close` after the event loop has read from its connections, so `close`
    // sees a request that has already reached this machine.
    setTimeout(() => setImmediate(close), lingerMs).unref();
  }

  return {
    /** Adds a connection, or closes it if there is no room for it. */
    add(socket: Socket): void {
      const address = addressKey(socket.remoteAddress);
      const neighbours = byAddress.get(address) ?? new Set();
      const hasRoom =
        (neighbours.size < mostPerAddress || makeRoom(neighbours)) && (open.size < most || makeRoom(open.values()));
      if (!hasRoom) {
        socket.destroy();
        return;
      }
      const connection: Connection = { socket, address, newest: undefined, swept: undefined, hasKey: undefined };
      open.set(socket, connection);
      byAddress.set(address, neighbours.add(connection));
      sweeping ??= setInterval(sweep, idleMs).unref();
      socket.once('close', () => forget(connection));
    },

    /**
     * Records the newest request of a connection. Its response is the last one that is pending,
     * because responses are sent in the sequence of their requests.
     */
    recordRequest(socket: Socket, response: ServerResponse): void {
      const connection = open.get(socket);
      if (connection !== undefined) connection.newest = response;
    },

    /** Records who was charged for the newest request that has a reply. */
    recordReply({ socket }: NodeRequest, { charged }: Reply): void {
      const connection = open.get(socket);
      // Without a decision of the limiter, it is unknown whether the key is valid.
      if (connection !== undefined && charged !== undefined) connection.hasKey = charged === 'key';
    },

    /**
     * Closes each connection after its pending responses. The last of them has `Connection: close`,
     * unless it has already begun. Without pending responses, a connection is closed after
     * `lingerMs`, because a request of the client could be on its way. If the first request of a
     * connection has begun to arrive, the connection stays open for that request.
     */
    closeAll(lingerMs: number): void {
      for (const connection of open.values()) {
        const { newest } = connection;
        if (newest === undefined || newest.writableFinished) closeUnlessUsed(connection, newest, lingerMs);
        else if (newest.headersSent) newest.once('finish', () => closeUnlessUsed(connection, newest, lingerMs));
        else newest.shouldKeepAlive = false;
      }
    },

    destroyAll(): void {
      for (const socket of open.keys()) socket.destroy();
    },
  };
}
