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
 * Tracks the open connections of a server. A connection counts as keyless if it has sent no
 * request, or if its newest request had no valid key. At the maximum number of connections, a new
 * connection replaces the oldest keyless connection. If there is no keyless connection, the new one
 * is closed. It is also closed if its address already has `mostPerAddress` connections.
 */
export interface Connections {
  /** Adds a connection. If there is no room for it, closes it and returns `false`. */
  add(socket: Socket): boolean;
  /**
   * Records the newest request of a connection. Its response is the last one that is pending,
   * because responses are sent in the sequence of their requests.
   */
  answering(socket: Socket, response: ServerResponse): void;
  /**
   * Records that the newest request of a connection has no valid key. Returns `false`, and closes
   * the connection, if the client sends too many requests without waiting for their responses.
   */
  addKeyless(socket: Socket): boolean;
  /**
   * Closes each connection after its pending responses. The last of them has `Connection: close`,
   * unless it has already begun. Without pending responses, a connection is closed after
   * `lingerMs`, because a request of the client could be on its way. If the first request of a
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
   * True if the newest request has a valid key, or if its key has not been checked so far. False
   * before the first request.
   */
  hasKey: boolean;
  /**
   * How many requests have been pipelined: each arrived before the previous response was complete.
   * A request that arrives after all responses are complete sets the count to 0.
   */
  pipelined: number;
  /**
   * The time at which the first unanswered request without a valid key arrived, or 0 if there is
   * none.
   */
  owedSinceMs: number;
}

/** How many requests a client without a valid key may send without waiting for their responses. */
const MOST_PIPELINED = 16;

/**
 * A client that has no valid key must read a response within this time, or its connection is
 * closed. Such a client gets only small responses, which take no time to read.
 */
const TAKE_WITHIN_MS = 10_000;
const SWEEP_MS = 2_000;

/**
 * If this many pipelined requests arrive in one pass of the event loop, connections without a valid
 * key are paused for as long as the pass took.
 *
 * In one pass, Node.js parses up to 3,600 requests from each readable connection. That takes 10 to
 * 30 ms, and the memory of the requests is not freed before the end of the pass. If several
 * connections sent so much at the same time, they would fill the memory. If they went on sending,
 * they would leave no time for customers.
 */
const MOST_IN_A_TURN = 512;

export function createConnections({ most, mostPerAddress }: ConnectionLimits): Connections {
  const open = new Map<Socket, Connection>();
  /** All connections, oldest first, except those that `strangers` has found to have a valid key. */
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
      // The connection is forgotten now and not at its close event. Other connections could arrive
      // before that event, and this one must not be counted with them.
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
   * Closes the connection after `lingerMs`, unless a newer request arrives first. In that case, the
   * response to the newer request closes the connection.
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
      // The connection is paused in a microtask, which runs after all callbacks of
      // `process.nextTick`. In one of these callbacks, Node.js begins to read, which would undo an
      // earlier pause. In another, `penalty-gate.ts` may pause the connection: `hold` then leaves
      // it alone.
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
