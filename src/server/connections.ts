import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey, type NodeRequest, type Reply } from '../http/index.js';
import { makeLast } from '../http/mounts/node-internals.js';
import { type Connection, firstToGiveWay } from './give-way.js';

export interface ConnectionLimits {
  /** The maximum number of connections. */
  readonly most: number;
  /** The maximum number of connections of one address. */
  readonly mostPerAddress: number;
  /** An idle connection is closed after between one and two times this long. Called with the first connection. */
  readonly idleMs: () => number;
}

/**
 * Tracks the open connections of a server. At the maximum number of connections, or of connections
 * of one address, {@link firstToGiveWay} makes room for a new one. If no other gives way, the new one
 * is closed.
 */
export function createConnections({ most, mostPerAddress, idleMs }: ConnectionLimits) {
  /** Both maps are ordered, oldest first. */
  const open = new Map<Socket, Connection>();
  const byAddress = new Map<string, Set<Connection>>();
  let requests = 0;
  let sweepTimer: NodeJS.Timeout | undefined;

  function forget(connection: Connection): void {
    open.delete(connection.socket);
    if (open.size === 0) {
      clearInterval(sweepTimer);
      sweepTimer = undefined;
    }
    const neighbours = byAddress.get(connection.address);
    neighbours?.delete(connection);
    if (neighbours?.size === 0) byAddress.delete(connection.address);
  }

  /** Closes a connection. Returns `false` if none gives way. */
  function makeRoom(among: Iterable<Connection>, count: number): boolean {
    const connection = firstToGiveWay(among, count);
    if (connection === undefined) return false;
    // Other connections could arrive before the close event, so this one must not be counted.
    forget(connection);
    connection.socket.destroy();
    return true;
  }

  /**
   * Closes connections that have been idle since the last sweep. Node.js closes silent connections
   * by itself, but to Node.js any byte is activity, even a line break before a request.
   */
  function sweep(): void {
    for (const connection of open.values()) {
      const { socket, newest, swept } = connection;
      if (newest?.writableFinished && newest === swept) socket.destroy();
      connection.swept = newest;
    }
  }

  /**
   * Closes the connection after `lingerMs`. If a newer request has arrived by then, the response to
   * that request closes the connection.
   */
  function closeUnlessUsed({ socket }: Connection, response: ServerResponse | undefined, lingerMs: number): void {
    function close(): void {
      const isArriving = response === undefined && socket.bytesRead > 0;
      if (open.get(socket)?.newest === response && !isArriving) socket.destroy();
    }
    // The event loop reads from its connections before `setImmediate`, so `close` sees a request
    // that has already reached this machine.
    setTimeout(() => setImmediate(close), lingerMs).unref();
  }

  return {
    /** Adds a connection, or closes it if there is no room for it. */
    add(socket: Socket): void {
      const address = addressKey(socket.remoteAddress);
      const neighbours = byAddress.get(address) ?? new Set();
      const hasRoom =
        (neighbours.size < mostPerAddress || makeRoom(neighbours, neighbours.size)) &&
        (open.size < most || makeRoom(open.values(), open.size));
      if (!hasRoom) {
        socket.destroy();
        return;
      }
      const unused = { replied: undefined, holder: undefined, usedAt: 0, newest: undefined, swept: undefined };
      const connection: Connection = { socket, address, ...unused };
      open.set(socket, connection);
      byAddress.set(address, neighbours.add(connection));
      sweepTimer ??= setInterval(sweep, idleMs()).unref();
      socket.once('close', () => forget(connection));
    },

    /**
     * Records the newest request of a connection. Its response is sent last, because responses are
     * sent in the order of their requests.
     */
    recordRequest(socket: Socket, response: ServerResponse): void {
      const connection = open.get(socket);
      if (connection === undefined) return;
      connection.newest = response;
      connection.usedAt = requests++;
    },

    /** Records whose request got a reply. */
    recordReply(request: NodeRequest, { status, chargedTo, keyId }: Reply): void {
      const connection = open.get(request.socket);
      if (connection === undefined) return;
      connection.replied = request;
      // Without a decision of the limiter, it is unknown whether the key is valid.
      if (chargedTo !== undefined) connection.holder = status === 429 ? undefined : keyId;
    },

    /**
     * Closes each connection after its pending responses. The last of them has `Connection: close`,
     * unless it has already begun. A connection without pending responses is closed after
     * `lingerMs`, unless a request arrives by then.
     */
    closeAll(lingerMs: number): void {
      for (const connection of open.values()) {
        const { newest } = connection;
        if (newest === undefined || newest.writableFinished) closeUnlessUsed(connection, newest, lingerMs);
        else if (newest.headersSent) newest.once('finish', () => closeUnlessUsed(connection, newest, lingerMs));
        else makeLast(newest);
      }
    },

    destroyAll(): void {
      for (const socket of open.keys()) socket.destroy();
    },
  };
}
