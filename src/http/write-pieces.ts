import type { ServerResponse } from 'node:http';

/**
 * How much of a list is handed over to the system at a time: of many small pieces together, and not so much that fifty
 * readers who come at once hold up the event loop, which has its turn in between.
 */
const WINDOW_BYTES = 1_048_576;

/** A client that takes nothing for this long while something waits for it is gone. */
const SILENT_MS = 30_000;

/**
 * Writes the pieces at the pace of the reader, and ends the response. What fails midway ends the connection, so that
 * nobody takes the torso for the whole; when the reader hangs up, the iterator is ended. Never rejects.
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

/** Corked, so that many pieces go to the system in one call. */
async function writeShared(response: ServerResponse, pieces: Iterable<Uint8Array>): Promise<void> {
  response.cork();
  for (const piece of pieces) {
    response.write(piece);
    if (response.writableLength < WINDOW_BYTES) continue;
    response.uncork();
    await taken(response);
    // What the system takes at once is taken within this turn.
    await new Promise((resolve) => setImmediate(resolve));
    if (response.destroyed) return;
    response.cork();
  }
  response.uncork();
}

async function writeOwn(response: ServerResponse, iterator: AsyncIterator<Uint8Array>): Promise<void> {
  // It may be waiting for its next piece when the reader hangs up.
  const end = () => void iterator.return?.().then(undefined, () => {});
  response.once('close', end);
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    if (response.destroyed) return;
    if (response.write(next.value) || response.writableLength < WINDOW_BYTES) continue;
    await taken(response);
  }
  response.off('close', end);
}

/** Resolves when all that was written has been taken, or the connection is closed. */
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

/**
 * Closes the connection if its client takes nothing of what waits for it for {@link SILENT_MS}; seen by the system's
 * taking, so within twice that time. A shorter limit of the host stays, and is back in force when all is taken.
 */
export function dropIfSilent(response: ServerResponse): () => void {
  const { socket } = response;
  const hostMs = socket?.timeout ?? 0;
  if (socket === null || response.writableLength === 0 || (hostMs > 0 && hostMs <= SILENT_MS)) return () => {};
  const drop = () => void response.destroy();
  function stop(): void {
    response.off('timeout', drop).off('finish', stop);
    socket?.setTimeout(hostMs);
  }
  socket.setTimeout(SILENT_MS);
  // Before node's own listener, which sets the limit of an idle connection.
  response.on('timeout', drop).prependListener('finish', stop);
  return stop;
}
