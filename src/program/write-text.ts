import type { Writable } from 'node:stream';

/**
 * Writes the text and resolves to `true` when it is written. Resolves to `false` if the reader has
 * closed the pipe, as in `| head`. That is not a failure. Rejects on any other error.
 */
export function writeText(stream: Writable, text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    // Without a listener, the error would end the process before the callback is called.
    const ignore = () => {};
    stream.once('error', ignore);
    stream.write(text, (error) => {
      if (!error) {
        stream.off('error', ignore);
        resolve(true);
      } else if ('code' in error && (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED')) {
        resolve(false);
      } else {
        reject(error);
      }
    });
  });
}
