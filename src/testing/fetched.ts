import { STATUS_CODES } from 'node:http';
import { ReadableStream, TransformStream } from 'node:stream/web';

/**
 * Returns a response as the global `fetch` would (Fetch Standard §4.6): with its URL and the text of
 * its status, and with a body that fails if the request is aborted.
 */
export function asFetched({ method, url, signal }: Request, { status, headers, body }: Response): Response {
  const content =
    method === 'HEAD' || body === null
      ? null
      : ReadableStream.from(body).pipeThrough(new TransformStream(), { signal });
  const [withoutFragment = url] = url.split('#', 1);
  return withUrl(
    new Response(content, { status, statusText: STATUS_CODES[status] ?? 'unknown', headers }),
    withoutFragment,
  );
}

/** Sets the URL, which is empty in a response that was not fetched, and in those cloned from it. */
function withUrl(response: Response, url: string): Response {
  const clone = () => withUrl(Response.prototype.clone.call(response), url);
  return Object.defineProperties(response, {
    url: { value: url, configurable: true },
    clone: { value: clone, configurable: true },
  });
}
