import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The open connections of a server, and which of them still owe an answer. */
export interface Connections {
  add(socket: Socket): void;
  /** The newest request of a connection: with pipelining it is also the last to be answered. */
  answering(socket: Socket, response: ServerResponse): void;
  /** Closes each connection once it owes no answer, at once if it owes none. One that has sent part of a request may finish it. */
  closeWhenAnswered(): void;
  destroyAll(): void;
}

export function createConnections(): Connections {
  const newest = new Map<Socket, ServerResponse | undefined>();

  function closeWhenAnswered(socket: Socket, response: ServerResponse | undefined): void {
    if (response === undefined) {
      if (socket.bytesRead === 0) socket.destroy();
    } else if (response.writableFinished) {
      socket.destroy();
    } else {
      if (!response.headersSent) response.shouldKeepAlive = false;
      // A request that was sent meanwhile has an answer of its own, which closes the connection.
      response.once('finish', () => {
        if (newest.get(socket) === response) socket.destroySoon();
      });
    }
  }

  return {
    add(socket) {
      newest.set(socket, undefined);
      socket.once('close', () => newest.delete(socket));
    },

    answering(socket, response) {
      newest.set(socket, response);
    },

    closeWhenAnswered() {
      for (const [socket, response] of newest) closeWhenAnswered(socket, response);
    },

    destroyAll() {
      for (const socket of newest.keys()) socket.destroy();
    },
  };
}
