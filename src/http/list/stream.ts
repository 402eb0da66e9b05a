import { AsyncResource } from 'node:async_hooks';
import type { StreamEnd, StreamedBody } from '../reply.js';
import { joinPages } from './body.js';

/** How long a client may take to request the next page, beyond the time to send the last one at 20 kB/s. */
const DROPPED_MS = 240_000;

/**
 * Starts to stream a list to one client. The first page is read before the response begins, so a
 * store that fails before then still leads to a 503. Further pages are read as fast as the client
 * reads, in the context of the request. A stream that a host has dropped unread ends with an error.
 */
export async function startStream(pages: AsyncIterable<string | Uint8Array>): Promise<StreamedBody> {
  const pieces = joinPages(pages);
  let first: IteratorResult<Uint8Array, undefined> | undefined = await pieces.next();
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let dropped: Error | undefined;
  let end: (result: StreamEnd) => void = () => {};
  const ended = new Promise<StreamEnd>((resolve) => {
    end = resolve;
  });

  /** Takes a step, and notes whether the stream has ended with it. */
  async function step(take: () => Promise<IteratorResult<Uint8Array, undefined>>) {
    clearTimeout(timer);
    try {
      const result = await take();
      if (result.done === true) end({ bytes, error: undefined });
      else bytes += result.value.length;
      return result;
    } catch (error) {
      end({ bytes, error });
      throw error;
    }
  }

  async function takeNext(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (dropped !== undefined) throw dropped;
    const result = first ?? (await pieces.next());
    first = undefined;
    if (result.done !== true) watch(result.value.length);
    return result;
  }

  function watch(length: number): void {
    const drop = () => {
      dropped = new Error('Nobody has taken the next page for minutes.');
      end({ bytes, error: dropped });
      pieces.return(undefined).catch(() => {});
    };
    timer = setTimeout(drop, DROPPED_MS + length / 20);
    // Some runtimes have numbers for timers.
    timer.unref?.();
  }

  watch(0);
  // Without `throw`: with the error of a reader that hangs up, it would look like a failure of the
  // store. Streams ask for the next piece in the context of their reader, or of an event.
  const iterator: AsyncIterator<Uint8Array, undefined> = {
    next: AsyncResource.bind(() => step(takeNext)),
    return: AsyncResource.bind(() => step(() => pieces.return(undefined))),
  };
  return { ended, [Symbol.asyncIterator]: () => iterator };
}
