import type { FrontDoor, OpenPath } from '../http/front-door.js';
import { after } from '../http/host-call.js';
import type { OrderService } from '../http/index.js';

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
    body: undefined,
  }),
};

/**
 * Lets web pages of these origins use the service (`*` for all). Their preflight requests need no
 * key, and are charged to the client's address. They get a response even if the address is over its
 * limit: one client could otherwise lock out every browser behind the same address. The pages may
 * read the header fields of each reply (Fetch Standard §3.2). A request from another origin gets
 * the usual response, but the browser hides it from the page.
 */
export function withCors(service: OrderService, door: FrontDoor, origins: readonly string[]): OrderService {
  const allowsAll = origins.includes('*');

  /** Returns the field that allows the origin, or `undefined` if it is not allowed or absent. */
  function allowedFields(origin: string | undefined): readonly string[] | undefined {
    if (origin === undefined || !(allowsAll || origins.includes(origin))) return undefined;
    return ['Access-Control-Allow-Origin', allowsAll ? '*' : origin];
  }

  return {
    ...service,
    respond(head, clientAddress) {
      const { method, rawHeaders } = head;
      const allowed = allowedFields(fieldOf(rawHeaders, 'origin'));
      const vary = allowsAll ? [] : ['Vary', 'Origin'];
      const fields = allowed === undefined ? vary : [...allowed, ...vary, ...EXPOSED];
      const isPreflight = method === 'OPTIONS' && fieldOf(rawHeaders, 'access-control-request-method') !== undefined;
      const reply =
        allowed !== undefined && isPreflight
          ? door.serve(head, clientAddress, PREFLIGHT)
          : service.respond(head, clientAddress);
      return after(reply, (settled) => ({ ...settled, headers: [...settled.headers, ...fields] }));
    },
  };
}

/** Throws a TypeError that names the option if an origin is invalid. */
export function checkOrigins(origins: readonly string[]): void {
  if (!Array.isArray(origins) || !origins.every(isOrigin)) {
    throw new TypeError('corsOrigins: expected origins such as "https://shop.example", or "*"');
  }
}

function fieldOf(rawHeaders: readonly string[], name: string): string | undefined {
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === name) return rawHeaders[i + 1];
  }
  return undefined;
}

/** Returns whether the text is `*`, or an origin exactly as browsers send it. */
export function isOrigin(text: unknown): text is string {
  return text === '*' || (typeof text === 'string' && URL.canParse(text) && new URL(text).origin === text);
}
