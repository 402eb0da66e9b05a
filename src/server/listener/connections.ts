import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey } from '../../http/client-address.js';

export interface ConnectionLimits {
  /** The maximum number of connections. */
  readonly most: number;
  /** The maximum number of connections of one address. */
  readonly mostPerAddress: number;
}

/**
 * Tracks the open connections of a server. At the maximum number of connections, a new connection
 * replaces the oldest one without a valid key: one that has sent no request, or whose last request
 * had no valid key. If there is no such connection, the new one is closed. It is also closed if its
 * address already has `mostPerAddress` connections.
 */
export interface Connections {
  /** Adds a connection. Returns `false` if there was no room and it was closed. */
  add(socket: Socket): boolean;
  /**
   * Records the newest request of a connection. With pipelining, the newest request is also the
   * last to get a response.
   */
  answering(socket: Socket, response: ServerResponse): void;
  /**
   * Records that the newest request of a connection has no valid key. Returns `false`, and closes
   * the connection, if the client sends too many requests without waiting for their responses.
   */
  addKeyless(socket: Socket): boolean;
  /**
   * Closes each connection after its pending responses. The last of these responses has
   * `Connection: close`, unless it has already begun. A connection without pending responses is
   * closed after `lingerMs`, because the client may be sending a request. If the first request of a
   * connection has begun to arrive, the connection stays open for that request.
   */
  closeAll(lingerMs: number): void;
  destroyAll(): void;
}

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  newest: ServerResponse | undefined;
  /**
   * Whether the newest request has a valid key. It is `true` until the opposite is known, and
   * `false` before the first request.
   */
  hasKey: boolean;
  /**
   * How many requests have arrived, each before the response to the previous one was complete. It
   * starts again at 0 when the client has all its responses.
   */
  pipelined: number;
  /** When a client without a valid key began to wait for responses, or 0 if it is not waiting. */
  owedSinceMs: number;
}

/** How many requests a client without a valid key may send without waiting for their responses. */
const MOST_PIPELINED = 16;

/**
 * A client without a valid key that leaves a response unread for this long is disconnected. Such a
 * client gets only small responses, which it could read at once.
 */
const TAKE_WITHIN_MS = 10_000;
const SWEEP_MS = 2_000;

/**
 * If one turn of the event loop has this many pipelined requests, connections without a valid key
 * are paused for as long as the turn took. From each readable connection, Node.js parses up to
 * 3,600 requests in a turn, which takes 10 to 30 ms, and frees none of them within the turn. If
 * several such connections were read in one turn, they would fill the memory. If they were read in
 * many turns without a pause, they would leave no time for customers.
 */
const MOST_IN_A_TURN = 512;

export function createConnections({ most, mostPerAddress }: ConnectionLimits): Connections {
  const open = new Map<Socket, Connection>();
  /**
   * All connections that may have no valid key, oldest first. `strangers` removes those that have
   * shown one.
   */
  const keyless = new Set<Connection>();
  const perAddress = new Map<string, number>();
  /** Connections that are paused at the moment. */
  const held = new Set<Socket>();
  let isResting = false;
  let pipelined = 0;
  let turnStartMs = 0;
  let sweeping: NodeJS.Timeout | undefined;

  /**
   * Yields the connections without a valid key, oldest first. Skips a connection while it is
   * unknown whether its newest request has a valid key.
   */
  function* strangers(): Generator<Connection, undefined> {
    for (const connection of keyless) {
      const { newest, hasKey } = connection;
      if (newest !== undefined && !newest.headersSent) continue;
      if (newest !== undefined && hasKey) keyless.delete(connection);
      else yield connection;
    }
  }

  function forget(connection: Connection): void {
    if (!open.delete(connection.socket)) return;
    if (open.size === 0) sweeping = void clearInterval(sweeping);
    keyless.delete(connection);
    const left = (perAddress.get(connection.address) ?? 1) - 1;
    if (left === 0) perAddress.delete(connection.address);
    else perAddress.set(connection.address, left);
  }

  /**
   * Closes the oldest connection without a valid key. Returns `false` if there is no such
   * connection.
   */
  function evict(): boolean {
    for (const connection of strangers()) {
      // More connections may arrive before the close event, so this connection is forgotten now.
      forget(connection);
      connection.socket.destroy();
      return true;
    }
    return false;
  }

  function countPipelined(): void {
    if (++pipelined === 1) {
      turnStartMs = performance.now();
      setImmediate(endTurn);
    }
    if (pipelined !== MOST_IN_A_TURN) return;
    isResting = true;
    for (const { socket } of strangers()) hold(socket);
  }

  function hold(socket: Socket): void {
    if (!socket.isPaused()) held.add(socket.pause());
  }

  function endTurn(): void {
    if (pipelined >= MOST_IN_A_TURN) setTimeout(endRest, performance.now() - turnStartMs);
    pipelined = 0;
  }

  function endRest(): void {
    isResting = false;
    for (const socket of held) socket.resume();
    held.clear();
  }

  function closeUntaken(): void {
    const sinceMs = performance.now() - TAKE_WITHIN_MS;
    for (const { socket, newest, hasKey, owedSinceMs } of keyless) {
      if (newest !== undefined && !hasKey && !newest.writableFinished && owedSinceMs < sinceMs) socket.destroy();
    }
  }

  /**
   * Closes the connection after `lingerMs`, unless a newer request has arrived by then. The
   * response to that request then closes it.
   */
  function closeUntold({ socket }: Connection, response: ServerResponse | undefined, lingerMs: number): void {
    function close(): void {
      const isArriving = response === undefined && socket.bytesRead > 0;
      if (open.get(socket)?.newest === response && !isArriving) socket.destroy();
    }
    // `setImmediate` runs `close` after the event loop has read from its connections, so `close`
    // sees a request that has already reached this machine.
    setTimeout(() => setImmediate(close), lingerMs).unref();
  }

  return {
    add(socket) {
      const address = addressKey(socket.remoteAddress);
      const ofAddress = (perAddress.get(address) ?? 0) + 1;
      if (ofAddress > mostPerAddress || (open.size >= most && !evict())) {
        socket.destroy();
        return false;
      }
      const connection = { socket, address, newest: undefined, hasKey: false, pipelined: 0, owedSinceMs: 0 };
      open.set(socket, connection);
      keyless.add(connection);
      sweeping ??= setInterval(closeUntaken, SWEEP_MS).unref();
      perAddress.set(address, ofAddress);
      // Waits for a microtask. It runs after the ticks in which Node.js begins to read and
      // `penalty-gate.ts` pauses connections.
      if (isResting) queueMicrotask(() => hold(socket));
      const { stackTraceLimit } = Error;
      // When a connection closes, Node.js creates an error for each pending request. Without stack
      // traces, this takes half the time.
      socket.prependOnceListener('close', () => {
        Error.stackTraceLimit = 0;
      });
      socket.once('close', () => {
        Error.stackTraceLimit = stackTraceLimit;
        forget(connection);
      });
      return true;
    },

    answering(socket, response) {
      const connection = open.get(socket);
      if (connection === undefined) return;
      if (connection.newest === undefined || connection.newest.writableFinished) {
        connection.pipelined = 0;
        connection.owedSinceMs = 0;
      } else {
        connection.pipelined++;
        countPipelined();
      }
      connection.newest = response;
      connection.hasKey = true;
    },

    addKeyless(socket) {
      const connection = open.get(socket);
      if (connection === undefined) return true;
      connection.hasKey = false;
      if (connection.owedSinceMs === 0) connection.owedSinceMs = performance.now();
      const isTooMany = connection.pipelined > MOST_PIPELINED;
      if (isTooMany) socket.destroy();
      return !isTooMany;
    },

    closeAll(lingerMs) {
      for (const connection of open.values()) {
        const { newest } = connection;
        if (newest === undefined || newest.writableFinished) closeUntold(connection, newest, lingerMs);
        else if (newest.headersSent) newest.once('finish', () => closeUntold(connection, newest, lingerMs));
        else newest.shouldKeepAlive = false;
      }
    },

    destroyAll() {
      for (const socket of open.keys()) socket.destroy();
    },
  };
}
