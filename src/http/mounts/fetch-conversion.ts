import { forEachField, type Reply } from '../reply.js';
import type { RequestHead } from '../request.js';

export function headOf({ method, url, headers }: Request, ignoredField?: string): RequestHead {
  return { method, url, rawHeaders: [...headers].filter(([name]) => name !== ignoredField).flat() };
}

/** Returns the client's address from `request.ip`, which srvx and h3 set. */
export function ipOf(request: Request): string | undefined {
  return 'ip' in request && typeof request.ip === 'string' ? request.ip : undefined;
}

/**
 * Converts a reply to a Response. `Connection` is left out, because HTTP/2 forbids this field, and
 * a Request does not reveal whether it came over HTTP/2. The runtime controls the connection
 * itself.
 */
export function toResponse({ status, headers, body }: Reply): Response {
  const fields = new Headers();
  forEachField(headers, (name, value) => {
    if (name !== 'Connection') fields.append(name, value);
  });
  // Stops Cloudflare Workers from compressing a list that is already compressed.
  const coded = fields.has('Content-Encoding') && { encodeBody: 'manual' };
  return new Response(bodyOf(body), { status, headers: fields, ...coded });
}

/**
 * Returns the body for `new Response`. It is `null` if there is no body, because `new Response`
 * throws for a 204 with any other body, even an empty string.
 */
function bodyOf(body: Reply['body']): ConstructorParameters<typeof Response>[0] {
  if (body === undefined) return null;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  return ReadableStream.from(body);
}
