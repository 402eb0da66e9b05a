import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The open connections of a server, and which of them still owe an answer. */
export interface Connections {
  add(socket: Socket): void;
  /** The newest request of a connection: with pipelining it is also the last to be answered. */
  answering(socket: Socket, response: ServerResponse): void;
  /**
   * Closes each connection: with the answer that it owes, which says so if it has not begun; else after `lingerMs`
   * without a request, because a client that was not told may be sending one. One that has sent part of its first
   * request may finish it.
   */
  closeAll(lingerMs: number): void;
  destroyAll(): void;
}

export function createConnections(): Connections {
  const newest = new Map<Socket, ServerResponse | undefined>();

  /** Unless a newer request has arrived by then: its answer closes the connection. */
  function closeUntold(socket: Socket, response: ServerResponse | undefined, lingerMs: number): void {
    function close(): void {
      const isArriving = response === undefined && socket.bytesRead > 0;
      if (newest.get(socket) === response && !isArriving) socket.destroy();
    }
    // An immediate comes after the reading: what has reached this machine by now is seen.
    setTimeout(() => setImmediate(close), lingerMs).unref();
  }

  return {
    add(socket) {
      newest.set(socket, undefined);
      socket.once('close', () => newest.delete(socket));
    },

    answering(socket, response) {
      newest.set(socket, response);
    },

    closeAll(lingerMs) {
      for (const [socket, response] of newest) {
        if (response === undefined || response.writableFinished) closeUntold(socket, response, lingerMs);
        else if (response.headersSent) response.once('finish', () => closeUntold(socket, response, lingerMs));
        else response.shouldKeepAlive = false;
      }
    },

    destroyAll() {
      for (const socket of newest.keys()) socket.destroy();
    },
  };
}
