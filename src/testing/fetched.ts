import { STATUS_CODES } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { ReadableStream, TransformStream } from 'node:stream/web';
import { createBrotliDecompress, createGunzip } from 'node:zlib';

const DECODERS: Readonly<Record<string, typeof createGunzip | typeof createBrotliDecompress>> = {
  gzip: createGunzip,
  br: createBrotliDecompress,
};

/**
 * Returns a response as the global `fetch` would (Fetch Standard §4.6): with its URL and the text of
 * its status, decoded, and with a body that fails if the request is aborted.
 */
export function asFetched({ method, url, signal }: Request, { status, headers, body }: Response): Response {
  const content = method === 'HEAD' || body === null ? null : decode(body, headers.get('Content-Encoding'), signal);
  const [withoutFragment = url] = url.split('#', 1);
  return withUrl(
    new Response(content, { status, statusText: STATUS_CODES[status] ?? 'unknown', headers }),
    withoutFragment,
  );
}

/** Decodes a body, even if the caller has sent its own `Accept-Encoding`. */
function decode(body: AsyncIterable<Uint8Array>, coding: string | null, signal: AbortSignal): ReadableStream {
  const create = DECODERS[coding ?? ''];
  const decoded = create === undefined ? body : pipeline(Readable.from(body), create(), () => {});
  return ReadableStream.from(decoded).pipeThrough(new TransformStream(), { signal });
}

/** Sets the URL, which is empty in a response that was not fetched, and in those cloned from it. */
function withUrl(response: Response, url: string): Response {
  const clone = () => withUrl(Response.prototype.clone.call(response), url);
  return Object.defineProperties(response, { url: { value: url }, clone: { value: clone } });
}
