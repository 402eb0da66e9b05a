import { ReadableStream } from 'node:stream/web';
import { forEachField, isPieces, isTaken, type Reply } from '../reply.js';
import type { RequestHead } from '../request.js';

export function headOf(request: Request, ignoredField?: string): RequestHead {
  const { method, headers } = request;
  // A fragment belongs to the client (RFC 9110 §4.2.5), but a Request keeps it.
  const [url] = request.url.split('#', 1);
  return {
    method,
    url,
    rawHeaders: [...headers].filter(([name]) => name !== ignoredField).flat(),
    get aborted() {
      return request.signal.aborted;
    },
  };
}

/** Returns the client's address from `request.ip`, which srvx and h3 set. */
export function ipOf(request: Request): string | undefined {
  return 'ip' in request && typeof request.ip === 'string' ? request.ip : undefined;
}

/** Converts a reply to a Response, without `Connection`, which HTTP/2 forbids and the runtime sets. */
export function toResponse({ status, headers, body }: Reply): Response {
  const fields = new Headers();
  forEachField(headers, (name, value) => {
    if (name !== 'Connection') fields.append(name, value);
  });
  // Stops Cloudflare Workers from compressing a list that is already compressed.
  const workersOptions = fields.has('Content-Encoding') && { encodeBody: 'manual' };
  // `new Response` throws for a 204 with a body, even an empty one.
  const content = isPieces(body) ? (isTaken(body) && body.onlyPiece) || ReadableStream.from(body) : body;
  return new Response(content, { status, headers: fields, ...workersOptions });
}
