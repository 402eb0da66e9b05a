import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { NodeRequest } from '../http/index.js';
import { responseInProgress } from '../http/mounts/node-internals.js';

/** A connection, and what is known about its use. */
export interface Connection {
  readonly socket: Socket;
  /** The key of its client's address. */
  readonly address: string;
  /** The request that got the last reply, although its bytes may not have been sent yet. */
  replied: NodeRequest | undefined;
  /** The id of the key that admitted the last reply. `undefined` if no key did. */
  holder: string | undefined;
  /** When the newest request arrived, as a number that grows with each request of the server. */
  usedAt: number;
  /** The response to the newest request. */
  newest: ServerResponse | undefined;
  /** `newest` as of the last sweep. */
  swept: ServerResponse | undefined;
}

/** The connections of a key. */
interface Holding {
  count: number;
  /** The longest unused that is idle. */
  idle?: Connection;
  /** How many are sending a response, and the one that began first. */
  sending: number;
  slowest?: Connection;
}

/**
 * Returns the connection that gives way to a new one, of all that could. They are in the order in
 * which they were opened.
 *
 * 1. The oldest without a holder, if a quarter has none. It has sent no request, has no valid key, or
 *    its key was refused. Until it sends a request, nothing tells a customer from a flood. No other
 *    order gives each newcomer as much time for its first request: their number divided by the rate
 *    of new connections. Without the quarter, each newcomer would take the place of the one before.
 * 2. The longest unused idle connection of the key that has the most.
 * 3. The connection that has been sending a response for longest, of the key that sends the most at
 *    once. It cuts a list, so a key that sends only one keeps it.
 * 4. The oldest without a holder.
 *
 * A connection never gives way while its request waits for a reply. Returns `undefined` if none does.
 */
export function firstToGiveWay(connections: Iterable<Connection>, count: number): Connection | undefined {
  const holdings = new Map<string, Holding>();
  let stranger: Connection | undefined;
  let strangers = 0;
  for (const connection of connections) {
    const { holder } = connection;
    if (holder === undefined) {
      strangers++;
      // A stranger could hold a response for long by not reading it, so it protects no stranger.
      if (stranger === undefined && stateOf(connection) !== 'waiting') stranger = connection;
      if (stranger !== undefined && strangers >= Math.floor(count / 4)) return stranger;
      continue;
    }
    const holding = holdings.get(holder) ?? { count: 0, sending: 0 };
    holdings.set(holder, holding);
    holding.count++;
    const state = stateOf(connection);
    if (state === 'idle') holding.idle = longerUnused(connection, holding.idle);
    if (state === 'sending') {
      holding.sending++;
      holding.slowest = longerUnused(connection, holding.slowest);
    }
  }
  const idle = largest(holdings.values(), (holding) => (holding.idle === undefined ? 0 : holding.count))?.idle;
  return idle ?? largest(holdings.values(), ({ sending }) => sending - 1)?.slowest ?? stranger;
}

function stateOf({ socket, replied }: Connection): 'idle' | 'waiting' | 'sending' {
  const response = responseInProgress(socket);
  if (response === undefined) return 'idle';
  return response.req === replied ? 'sending' : 'waiting';
}

function longerUnused(one: Connection, other = one): Connection {
  return one.usedAt < other.usedAt ? one : other;
}

/** Returns the value of the largest size, or `undefined` if no size is above 0. */
function largest<T>(values: Iterable<T>, sizeOf: (value: T) => number): T | undefined {
  let most = 0;
  let found: T | undefined;
  for (const value of values) {
    const size = sizeOf(value);
    if (size <= most) continue;
    most = size;
    found = value;
  }
  return found;
}
