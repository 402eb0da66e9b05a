import { isAscii } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Order } from '../../orders/index.js';
import { serializeOrder } from '../../orders/json.js';
import { isPieces, type SharedPieces } from '../reply.js';

export interface SerializedList {
  readonly body: string | Uint8Array | SharedPieces;
  readonly digest: string;
}

type Pages = AsyncIterable<string | Uint8Array>;

/** The number of orders that are serialised without a pause, in less than half a millisecond. */
const SLICE_LENGTH = 512;

/** A list of at most this length becomes a text, which is sent in one write with the response head. */
const MAX_TEXT_BYTES = 65_536;

/**
 * The least size of a piece that many readers share, and the most to which further parts are added.
 * Sending a list in pieces a quarter as large takes 1.5 times the processor time.
 */
const MIN_PIECE_BYTES = 524_288;
const MAX_PIECE_BYTES = 4 * MIN_PIECE_BYTES;

/** Reports whether the orders are serialised at once. */
export function isShort(orders: readonly Order[]): boolean {
  return orders.length <= SLICE_LENGTH;
}

/**
 * Serialises an array of orders. If there are many, the event loop runs between their slices. Throws
 * or rejects with a TypeError if the ids are not integers, or not in ascending order.
 */
export function serializeArray(
  orders: readonly Order[],
  recent: readonly Uint8Array[],
): SerializedList | Promise<SerializedList> {
  if (!isShort(orders)) return serializePages(slices(orders), recent);
  const body = `[${serializeSlice(orders, 0)}]`;
  return { body, digest: digestOf(body) };
}

async function* slices(orders: readonly Order[]): AsyncGenerator<string> {
  for (let start = 0; start < orders.length; start += SLICE_LENGTH) yield serializeSlice(orders, start);
}

function serializeSlice(orders: readonly Order[], start: number): string {
  let previous: unknown = orders[start - 1]?.id;
  const texts = orders.slice(start, start + SLICE_LENGTH).map((order) => {
    const id: unknown = order?.id;
    checkId(id, previous);
    previous = id;
    return serializeOrder(order);
  });
  return texts.join(',');
}

/** Checks an id that comes from a store of the host, which may not be written in TypeScript. */
function checkId(id: unknown, previous: unknown): void {
  if (typeof id !== 'bigint' && !(typeof id === 'number' && Number.isSafeInteger(id))) {
    throw new TypeError(`store.list: expected a bigint as the id of an order, got ${typeof id}`);
  }
  if ((typeof previous === 'bigint' || typeof previous === 'number') && previous >= id) {
    throw new TypeError(`store.list: expected orders with ascending ids, got ${id} after ${previous}`);
  }
}

/**
 * Joins all pages into one list, which shares equal pieces with a `recent` one. The event loop runs
 * after each page, even if all are available.
 */
export async function serializePages(pages: Pages, recent: readonly Uint8Array[]): Promise<SerializedList> {
  const hash = createHash('sha256');
  const whole = await collect(joinPages(pages), recent, (part) => {
    hash.update(part);
    return setImmediate();
  });
  // Text is sent as latin1, which is the same bytes only for ASCII.
  const isText = !isPieces(whole) && isAscii(whole);
  return { body: isText ? Buffer.from(whole).toString('latin1') : whole, digest: endDigest(hash) };
}

/** Joins the pages into one JSON array, and yields it in pieces. */
export async function* joinPages(pages: Pages): AsyncGenerator<Uint8Array, undefined> {
  let separator = '[';
  for await (const page of pages) {
    if (page.length === 0) continue;
    yield typeof page === 'string' ? Buffer.from(separator + page) : Buffer.concat([Buffer.from(separator), page]);
    separator = ',';
  }
  yield Buffer.from(separator === '[' ? '[]' : ']');
}

/**
 * Collects bytes into a body of few large pieces, or into one buffer if there are at most 64 KB. Waits
 * for `note` before it adds a part. The number of parts in a piece depends only on the first part, so a
 * part that grows does not shift those that follow. A piece that equals the piece at its place in
 * `recent` is replaced by that, so that both lists keep it once.
 */
export async function collect(
  bytes: AsyncIterable<Uint8Array>,
  recent: readonly Uint8Array[] = [],
  note: (part: Uint8Array) => Promise<void> | void = () => {},
): Promise<Uint8Array | SharedPieces> {
  const pieces: Uint8Array[] = [];
  let parts: Uint8Array[] = [];
  let most = 0;
  let partsLength = 0;
  for await (const part of bytes) {
    await note(part);
    if (most === 0) most = 2 ** Math.max(0, Math.ceil(Math.log2(MIN_PIECE_BYTES / part.length)));
    parts.push(part);
    partsLength += part.length;
    if (parts.length < most && partsLength < MAX_PIECE_BYTES) continue;
    pieces.push(joinParts(parts, recent[pieces.length]));
    parts = [];
    partsLength = 0;
  }
  const last = joinParts(parts, recent[pieces.length]);
  if (pieces.length === 0 && last.length <= MAX_TEXT_BYTES) return last;
  if (last.length > 0) pieces.push(last);
  return {
    length: pieces.reduce((length, piece) => length + piece.length, 0),
    pieces,
    // Uses nothing but the pieces, because it would keep what it uses, such as the recent list.
    async *[Symbol.asyncIterator]() {
      yield* pieces;
    },
  };
}

/** Joins the parts of a piece, unless it equals an `earlier` one. */
function joinParts(parts: readonly Uint8Array[], earlier: Uint8Array | undefined): Uint8Array {
  const [first = new Uint8Array()] = parts;
  const piece = parts.length > 1 ? Buffer.concat(parts) : first;
  return earlier !== undefined && Buffer.compare(earlier, piece) === 0 ? earlier : piece;
}

/** Returns 132 bits of SHA-256 as text. */
export function digestOf(content: string | Uint8Array): string {
  return endDigest(createHash('sha256').update(content));
}

function endDigest(hash: Hash): string {
  return hash.digest('base64url').slice(0, 22);
}
