import type { Reply } from '../reply.js';
import type { RequestHead } from '../request-head.js';
import type { OrderService } from '../service.js';

export interface FetchMountOptions<Context extends unknown[]> {
  /**
   * The client's address, by which requests without a valid key are limited, from the request and whatever else the
   * runtime hands over. Default: `request.ip`, which srvx and h3 have; where there is none, all such requests share one limit.
   */
  readonly clientAddress?: ((request: Request, ...context: Context) => string | undefined) | undefined;
}

/** Mounts the service wherever a handler is a function from Request to Response. */
export function fetchHandler<Context extends unknown[] = unknown[]>(
  service: OrderService,
  options: FetchMountOptions<Context> = {},
): (request: Request, ...context: Context) => Promise<Response> {
  const { clientAddress = ipOf } = options;
  return async (request, ...context) => {
    return toResponse(await service.respond(headOf(request), () => clientAddress(request, ...context)));
  };
}

export function headOf({ method, url, headers }: Request): RequestHead {
  return { method, url, rawHeaders: [...headers].flat() };
}

export function ipOf(request: Request): string | undefined {
  return 'ip' in request && typeof request.ip === 'string' ? request.ip : undefined;
}

/** Without `Connection`, which is the runtime's: HTTP/2 forbids it, and a Request does not say by which it came. */
export function toResponse({ status, headers, body }: Reply): Response {
  const fields = new Headers();
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? '';
    if (name !== 'Connection') fields.append(name, headers[i + 1] ?? '');
  }
  return new Response(bodyOf(body), { status, headers: fields });
}

/** A 204 must have `null`: even an empty text is refused. */
function bodyOf(body: Reply['body']): ConstructorParameters<typeof Response>[0] {
  if (body === undefined) return null;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  return ReadableStream.from(body);
}
