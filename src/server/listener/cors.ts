import { ADDRESS_PLAN, type AdmissionOptions, createAdmission } from '../../http/admission.js';
import { type ClientAddress, createExchange } from '../../http/exchange.js';
import { isPromise } from '../../http/host-call.js';
import type { OrderService, RequestHead } from '../../http/index.js';
import { attempt, finish, limitFieldsOf, type Outcome, type Reply } from '../../http/reply.js';
import { readHead } from '../../http/request-head.js';
import { NOT_OURS } from '../../http/route.js';
import { isOrigin } from '../config/origin.js';

/** The header field that lists the fields which a page of another origin may read. */
const EXPOSED = [
  'Access-Control-Expose-Headers',
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, ETag, X-Request-Id',
];

/**
 * The header fields of the reply to a preflight request. Browsers cache the reply for two hours.
 */
const PREFLIGHT = [
  'Access-Control-Allow-Methods',
  'GET, HEAD, DELETE',
  'Access-Control-Allow-Headers',
  'Authorization, If-Match, If-None-Match, X-Request-Id, traceparent, tracestate',
  'Access-Control-Max-Age',
  '7200',
];

/**
 * Lets web pages of these origins use the service (`*` for all). Their preflight requests need no
 * key, and are charged to the client's address. The pages may read the header fields of each reply
 * (Fetch Standard §3.2). A request from another origin gets the usual response, but the browser
 * hides it from the page.
 */
export function withCors(service: OrderService, origins: readonly string[], options: AdmissionOptions): OrderService {
  const { addressPlan = ADDRESS_PLAN } = options;
  const { chargeAddress } = createAdmission(options, () => undefined);
  const allowsAll = origins.includes('*');

  /**
   * Returns the header field that allows the origin. Returns `undefined` for an origin that is not
   * allowed, and for a request that does not come from a page.
   */
  function allowedFields(origin: string | undefined): readonly string[] | undefined {
    if (origin === undefined || !(allowsAll || origins.includes(origin))) return undefined;
    return ['Access-Control-Allow-Origin', allowsAll ? '*' : origin];
  }

  function preflight(request: RequestHead, clientAddress: ClientAddress): Reply | Promise<Reply> {
    const { method, url, rawHeaders } = request;
    const head = readHead(request);
    const exchange = createExchange(NOT_OURS, method, url, rawHeaders, head, clientAddress, addressPlan);
    const allow = (): Outcome => ({
      status: 204,
      headers: [...PREFLIGHT, ...limitFieldsOf(exchange)],
      body: undefined,
    });
    const reply = attempt(exchange, () => chargeAddress(exchange, head.fault ?? allow));
    return isPromise(reply) ? reply.then((settled) => finish(exchange, settled)) : finish(exchange, reply);
  }

  return {
    ...service,
    respond(request, clientAddress) {
      const { method, rawHeaders } = request;
      const allowed = allowedFields(fieldOf(rawHeaders, 'origin'));
      const vary = allowsAll ? [] : ['Vary', 'Origin'];
      const fields = allowed === undefined ? vary : [...allowed, ...vary, ...EXPOSED];
      const isPreflight = method === 'OPTIONS' && fieldOf(rawHeaders, 'access-control-request-method') !== undefined;
      const withFields = (reply: Reply): Reply => ({ ...reply, headers: [...reply.headers, ...fields] });
      const reply =
        allowed !== undefined && isPreflight
          ? preflight(request, clientAddress)
          : service.respond(request, clientAddress);
      return isPromise(reply) ? reply.then(withFields) : withFields(reply);
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
    if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name) return rawHeaders[i + 1];
  }
  return undefined;
}
