import { createHash } from 'node:crypto';
// This import is necessary, because tests with fake timers replace the global `setImmediate`.
import { setImmediate } from 'node:timers';
import type { Order } from '../../orders/index.js';
import { serializeOrder, serializeOrders } from '../../orders/json.js';
import type { SharedPieces } from '../reply.js';
import { digestOf, endDigest } from './entity-tag.js';

/** A complete list as JSON, with a digest of its bytes. */
export interface SerializedList {
  readonly body: string | Uint8Array | SharedPieces;
  readonly digest: string;
}

type Pages = AsyncIterable<string | Uint8Array>;

/**
 * The number of orders that are serialised without a pause. This takes less than half a
 * millisecond. A list of at most this length is sent in one write together with the response head.
 */
const SLICE = 512;

/** The event loop runs after at least this many bytes. Joining and hashing them takes 0.1 ms. */
const BYTES_BETWEEN_PAUSES = 32_768;

/** The least size of a piece that many readers share. Writing larger pieces takes less time. */
const SHARED_BYTES = 131_072;

/** Serialises an array of orders. If there are many, the event loop runs between their slices. */
export function serializeArray(orders: readonly Order[]): SerializedList | Promise<SerializedList> {
  if (orders.length > SLICE) return serializePages(slices(orders));
  const body = serializeOrders(orders);
  return { body, digest: digestOf(body) };
}

async function* slices(orders: readonly Order[]): AsyncGenerator<string> {
  let texts: string[] = [];
  for (const order of orders) {
    texts.push(serializeOrder(order));
    if (texts.length < SLICE) continue;
    yield texts.join(',');
    texts = [];
  }
  yield texts.join(',');
}

/** Joins all pages to one list. The event loop runs in between, even if all pages are there. */
export async function serializePages(pages: Pages): Promise<SerializedList> {
  const hash = createHash('sha256');
  const pieces: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  let smallBytes = 0;
  let bytes = 0;
  for await (const piece of joinPages(pages)) {
    hash.update(piece);
    small.push(piece);
    smallBytes += piece.length;
    if (smallBytes >= SHARED_BYTES) {
      pieces.push(Buffer.concat(small));
      small = [];
      smallBytes = 0;
    }
    bytes += piece.length;
    if (bytes < BYTES_BETWEEN_PAUSES) continue;
    bytes = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
  pieces.push(Buffer.concat(small));
  return { body: sharedBody(pieces), digest: endDigest(hash) };
}

/** Joins the pages to one JSON array, and yields it in pieces. */
export async function* joinPages(pages: Pages): AsyncGenerator<Uint8Array, undefined> {
  let mark = '[';
  for await (const page of pages) {
    if (page.length === 0) continue;
    yield typeof page === 'string' ? Buffer.from(mark + page) : Buffer.concat([Buffer.from(mark), page]);
    mark = ',';
  }
  yield Buffer.from(mark === '[' ? '[]' : ']');
}

/** Makes a body of the pieces without copying them. */
export function sharedBody(pieces: readonly Uint8Array[]): Uint8Array | SharedPieces {
  const [only, ...others] = pieces;
  if (only !== undefined && others.length === 0) return only;
  return {
    length: pieces.reduce((length, piece) => length + piece.length, 0),
    [Symbol.iterator]: () => pieces.values(),
    async *[Symbol.asyncIterator]() {
      yield* pieces;
    },
  };
}
