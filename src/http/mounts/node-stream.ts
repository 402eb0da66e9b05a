import type { ServerResponse } from 'node:http';

/**
 * How much of a list is handed over to the system at a time: many small pieces together, and no more in one turn of the
 * event loop, whoever reads. Fifty readers who begin together, each with its window in the same turn, held it up for 18 ms
 * of a core (median; 86 at most); in turns it is 4 (5).
 */
const WINDOW_BYTES = 524_288;

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
  // It may be waiting for its next piece when the reader hangs up.
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

/** Resolves in a turn of the event loop that is nobody else's, in the order in which they are asked for. */
function turn(): Promise<unknown> {
  lastTurn = lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)));
  return lastTurn;
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
  // What a client sends sets the system's limit anew: who keeps itself alive so has to take what waits within twice the time.
  let { bytesRead } = socket;
  const watch = setInterval(() => {
    if (socket.bytesRead !== bytesRead) drop();
    bytesRead = socket.bytesRead;
  }, 2 * SILENT_MS).unref();
  function stop(): void {
    clearInterval(watch);
    response.off('timeout', drop).off('finish', stop).off('close', stop);
    socket?.setTimeout(hostMs);
  }
  socket.setTimeout(SILENT_MS);
  // Before node's own listener, which sets the limit of an idle connection.
  response.on('timeout', drop).on('close', stop).prependListener('finish', stop);
  return stop;
}
