import type { Socket } from 'node:net';
import type { NodeRequest } from '../http/mounts/node.js';
import { responseInProgress } from '../http/mounts/node-internals.js';

/** What is known about the use of a connection. */
export interface Use {
  readonly socket: Socket;
  /** The request that got the last reply, although its bytes may not have been sent yet. */
  readonly replied: NodeRequest | undefined;
  /** The id of the key that admitted the last reply. `undefined` if no key did. */
  readonly holder: string | undefined;
  /** When the newest request arrived, as a number that grows with each request of the server. */
  readonly usedAt: number;
}

/**
 * Returns the connection that gives way to a new one. The connections are in the order in which they
 * were opened.
 *
 * 1. The oldest without a holder. It has sent no request, has no valid key, or its key was refused.
 *    Until it sends a request, nothing tells a customer from a flood. No other order gives each
 *    newcomer as much time for its first request: the limit divided by the rate of new connections.
 * 2. The longest unused idle connection of the key that has the most.
 *
 * A connection never gives way while its request waits for a reply. Returns `undefined` if all wait.
 */
export function firstToGiveWay<C extends Use>(connections: Iterable<C>): C | undefined {
  const holdings = new Map<string, { count: number; idle?: C }>();
  for (const connection of connections) {
    const { socket, replied, holder, usedAt } = connection;
    const response = responseInProgress(socket);
    if (holder === undefined) {
      // Strangers could hold a response for long by not reading it, so it does not protect them.
      if (response === undefined || response.req === replied) return connection;
      continue;
    }
    const holding = holdings.get(holder) ?? { count: 0 };
    holdings.set(holder, holding);
    holding.count++;
    if (response === undefined && usedAt < (holding.idle?.usedAt ?? Number.POSITIVE_INFINITY))
      holding.idle = connection;
  }
  let most = 0;
  let first: C | undefined;
  for (const { count, idle } of holdings.values()) {
    if (idle === undefined || count <= most) continue;
    most = count;
    first = idle;
  }
  return first;
}
