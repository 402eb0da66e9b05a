import type { OrderPages } from '../../orders/index.js';
import { hostStream } from '../host-call.js';
import type { StreamEnd, StreamedBody } from '../reply.js';
import { joinPages } from './body.js';

/**
 * Starts to stream a list to one client. The first page is read before the response begins, so a
 * store that fails before then still leads to a 503. Further pages are read as fast as the client
 * reads.
 */
export async function startStream(pages: OrderPages): Promise<StreamedBody> {
  let end: (result: StreamEnd) => void = () => {};
  const ended = new Promise<StreamEnd>((resolve) => {
    end = resolve;
  });

  async function* read(): AsyncGenerator<Uint8Array, undefined> {
    let bytes = 0;
    let error: unknown;
    try {
      for await (const piece of joinPages(hostStream(pages))) {
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

  const rest = read();
  let ahead: IteratorResult<Uint8Array, undefined> | undefined = await rest.next();
  // This iterator is not a generator, because a generator that never started runs no cleanup: its
  // `return` could not end the work of the store.
  const pieces: AsyncIterator<Uint8Array, undefined> = {
    async next() {
      const result = ahead ?? (await rest.next());
      ahead = undefined;
      return result;
    },
    return: () => rest.return(undefined),
  };
  return { ended, [Symbol.asyncIterator]: () => pieces };
}
