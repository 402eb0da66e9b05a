import type { ServerResponse } from 'node:http';
// This import is necessary, because tests with fake timers replace the global `setImmediate`.
import { setImmediate } from 'node:timers';
import { dropIfSilent } from './silent-readers.js';

/**
 * The number of bytes of a list that are passed to the system at a time. Each pass of the event
 * loop writes this much for one client only, however many clients there are. Such a pass takes 4 ms
 * of processor time (median; at most 5 ms). When a single pass wrote this much for each of fifty
 * clients, it took 18 ms (at most 86 ms).
 */
const WINDOW_BYTES = 524_288;

/**
 * Writes the pieces as fast as the client reads, and ends the response. If the pieces fail midway,
 * closes the connection, so that the client can tell that the list is truncated. If the client
 * hangs up, closes the iterator of the pieces. Never rejects.
 */
export async function writePieces(response: ServerResponse, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    if (isIterable(pieces)) await writeShared(response, pieces);
    else await writeOwn(response, pieces[Symbol.asyncIterator]());
    if (response.destroyed) return;
    response.end();
    dropIfSilent(response);
  } catch {
    response.destroy();
  }
}

function isIterable(pieces: AsyncIterable<Uint8Array>): pieces is AsyncIterable<Uint8Array> & Iterable<Uint8Array> {
  return Symbol.iterator in pieces;
}

/**
 * Writes pieces that many clients share. The response is corked, so that one system call writes
 * many pieces.
 */
async function writeShared(response: ServerResponse, pieces: Iterable<Uint8Array>): Promise<void> {
  const iterator = pieces[Symbol.iterator]();
  for (let next = iterator.next(); !next.done; ) {
    await turn();
    if (response.destroyed) return;
    response.cork();
    for (; !next.done && response.writableLength < WINDOW_BYTES; next = iterator.next()) response.write(next.value);
    response.uncork();
    if (!next.done) await taken(response);
  }
}

async function writeOwn(response: ServerResponse, iterator: AsyncIterator<Uint8Array>): Promise<void> {
  // The iterator is closed as soon as the client hangs up, even while the next piece is awaited.
  const end = () => void iterator.return?.().then(undefined, () => {});
  response.once('close', end);
  await turn();
  let bytes = 0;
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    if (response.destroyed) return;
    const hasRoom = response.write(next.value);
    bytes += next.value.length;
    if (bytes < WINDOW_BYTES) continue;
    if (!hasRoom) await taken(response);
    await turn();
    bytes = 0;
  }
  response.off('close', end);
}

let lastTurn: Promise<unknown> = Promise.resolve();

/**
 * Resolves in a later pass of the event loop. Calls resolve in their order, only one in each pass.
 */
function turn(): Promise<unknown> {
  lastTurn = lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)));
  return lastTurn;
}

/** Resolves when the system has accepted everything written, or when the connection is closed. */
function taken(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const stopWatching = dropIfSilent(response);
    function done(): void {
      response.off('drain', done).off('close', done);
      stopWatching();
      resolve();
    }
    response.on('drain', done).on('close', done);
  });
}
