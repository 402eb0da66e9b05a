import { isOrigin } from '../../check.js';
import type { MaybePromise } from '../../orders/index.js';
import type { ClientAddress } from '../client-address.js';
import type { FrontDoor, OpenPath } from '../front-door.js';
import { after } from '../maybe-promise.js';
import { type Reply, withVary } from '../reply.js';
import { type RequestHead, withRawHeaders } from '../request.js';

type Respond = (head: RequestHead, clientAddress?: ClientAddress) => MaybePromise<Reply>;

/** The header field that lists the fields which a page of another origin may read. */
const EXPOSED = [
  'Access-Control-Expose-Headers',
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit-Policy, RateLimit, Retry-After, ETag, X-Request-Id',
];

/**
 * The response to a preflight request. Browsers cache it for two hours. It allows every field,
 * because libraries and tracers add fields of their own. `*` does not stand for `Authorization`
 * (Fetch Standard §2.2.2).
 */
const PREFLIGHT: OpenPath = {
  allow: 'OPTIONS',
  isAlwaysServed: true,
  perform: () => ({
    status: 204,
    fields: [
      'Access-Control-Allow-Methods',
      '*',
      'Access-Control-Allow-Headers',
      'Authorization, *',
      'Access-Control-Max-Age',
      '7200',
    ],
  }),
};

/**
 * Lets web pages of these origins use the service (`*` for all). Their preflight requests need no
 * key, and are charged to the client's address. They get a response even if the address is over its
 * limit: one client could otherwise lock out every browser behind the same address. The pages may
 * read the header fields of each reply (Fetch Standard §3.2). A request from another origin gets
 * the usual response, but the browser hides it from the page.
 */
export function withCors(respond: Respond, serve: FrontDoor['serve'], origins: readonly string[]): Respond {
  const allowsAll = origins.includes('*');

  /**
   * Returns the fields that allow the origin, or `undefined` if it is not allowed or absent. `*` allows
   * an absent one too, because a cache may give that response to a page.
   */
  function allowedFields(origin: string | undefined): readonly string[] | undefined {
    if (allowsAll) return ['Access-Control-Allow-Origin', '*', ...EXPOSED];
    if (origin === undefined || !origins.includes(origin)) return undefined;
    return ['Access-Control-Allow-Origin', origin, ...EXPOSED];
  }

  function toPage({ headers, ...reply }: Reply, allowed: readonly string[] = []): Reply {
    const varying = headers.includes('Vary') ? withVary(headers, 'Origin') : [...headers, 'Vary', 'Origin'];
    return { ...reply, headers: [...(allowsAll ? headers : varying), ...allowed] };
  }

  return (head, clientAddress) => {
    const origin = fieldOf(head, 'origin');
    const allowed = allowedFields(origin);
    const asksFirst = head.method === 'OPTIONS' && fieldOf(head, 'access-control-request-method') !== undefined;
    const isAllowed = allowed !== undefined && origin !== undefined && asksFirst;
    const reply = isAllowed ? serve(head, clientAddress, PREFLIGHT) : respond(head, clientAddress);
    return after(reply, (settled) => toPage(settled, allowed));
  };
}

/** Throws a TypeError that names the option if an origin is invalid. */
export function checkOrigins(origins: readonly string[]): void {
  if (!Array.isArray(origins) || !origins.every(isOrigin)) {
    throw new TypeError('corsOrigins: expected origins such as "https://shop.example", or "*"');
  }
}

function fieldOf(head: RequestHead, name: string): string | undefined {
  const { rawHeaders } = withRawHeaders(head);
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === name) return rawHeaders[i + 1];
  }
  return undefined;
}
