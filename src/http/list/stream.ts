import { AsyncResource } from 'node:async_hooks';
import type { StreamEnd, StreamedBody } from '../reply.js';
import { joinPages } from './body.js';

/** An empty first result. `startStream` takes it from the stream, so that no client gets it. */
const STARTED = new Uint8Array();

/**
 * Starts to stream a list to one client. The first page is read before the response begins, so a
 * store that fails before then still leads to a 503. Further pages are read as fast as the client
 * reads.
 */
export async function startStream(pages: AsyncIterable<string | Uint8Array>): Promise<StreamedBody> {
  let end: (result: StreamEnd) => void = () => {};
  const ended = new Promise<StreamEnd>((resolve) => {
    end = resolve;
  });

  async function* read(): AsyncGenerator<Uint8Array, undefined> {
    let isStarted = false;
    let bytes = 0;
    let error: unknown;
    try {
      for await (const piece of joinPages(pages)) {
        if (!isStarted) yield STARTED;
        isStarted = true;
        bytes += piece.length;
        yield piece;
      }
    } catch (thrown) {
      error = thrown;
      throw thrown;
    } finally {
      end({ bytes, error });
    }
  }

  const body = read();
  // A generator must have been started, or else its `return` would not end the work of the store.
  await body.next();
  return Object.assign(body, {
    // Streams ask for the next piece in the context of their reader, or of an event of the socket.
    next: AsyncResource.bind(body.next),
    return: AsyncResource.bind(body.return),
    ended,
    // If the reader hangs up, a stream of Node.js calls `throw` with the error, which `read` would
    // report as a failure of the store.
    throw: undefined,
  });
}
