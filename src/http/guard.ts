import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import {
  ADDRESS_PLAN,
  type AdmissionOptions,
  checkAdmissionOptions,
  createAdmission,
  type Principal,
} from './admission.js';
import { type ClientAddress, createExchange, isPromise } from './exchange.js';
import { type FetchMountOptions, headOf, ipOf, toResponse } from './mounts/fetch.js';
import { frameworkAddress, type NodeMountOptions, type NodeRequest, send } from './mounts/node.js';
import { attempt, finish, limitFieldsOf, type Reply } from './reply.js';
import { type RequestHead, readHead } from './request-head.js';
import { FOREIGN } from './route.js';

export { type Announcement, announcementFields } from './deprecation.js';

/**
 * The key check, the quotas and the limit fields of the service, before other routes of a host: a key's quota counts
 * over the whole interface. Give it the limiter and the `authenticate` of the service. It never throws and never rejects.
 */
export interface Guard {
  /** Charges a request, at once when the parts answer at once. */
  admit(request: RequestHead, clientAddress?: ClientAddress): GuardOutcome | Promise<GuardOutcome>;
}

/** Either the host answers, and adds the limit fields in `headers` (names and values in turn), or `reply` is the answer. */
export type GuardOutcome =
  | { readonly admitted: true; readonly principal: Principal; readonly headers: readonly string[] }
  | { readonly admitted: false; readonly reply: Reply };

/** Makes the guard. Throws a TypeError that names the option if one is wrong. */
export function createGuard(options: AdmissionOptions): Guard {
  checkAdmissionOptions(options);
  const { addressPlan = ADDRESS_PLAN } = options;
  const { identify } = createAdmission(options, (exchange, principal) => ({
    admitted: true as const,
    principal,
    headers: limitFieldsOf(exchange),
  }));
  return {
    admit({ method, rawHeaders, httpVersion }, clientAddress) {
      const exchange = createExchange(
        FOREIGN,
        method,
        rawHeaders,
        readHead(rawHeaders, httpVersion),
        clientAddress,
        addressPlan,
      );
      const outcomeOf = (settled: GuardOutcome | Reply): GuardOutcome =>
        'admitted' in settled ? settled : { admitted: false, reply: finish(exchange, settled) };
      const result = attempt(exchange, identify);
      return isPromise(result) ? result.then(outcomeOf) : outcomeOf(result);
    },
  };
}

const principals = new WeakMap<object, Principal>();

/** Whose key a request had that a {@link nodeGuard} let pass. */
export function principalOf(request: NodeRequest): Principal | undefined {
  return principals.get(request);
}

/** The guard as a middleware for Express and Connect, or in a listener for node:http: `next` is called for whom it admits. */
export function nodeGuard(
  guard: Guard,
  options: NodeMountOptions = {},
): (request: NodeRequest, response: ServerResponse | Http2ServerResponse, next: () => void) => void {
  const { clientAddress = frameworkAddress } = options;
  return (request, response, next) => {
    function proceed(outcome: GuardOutcome): void {
      if (!outcome.admitted) {
        send(response, outcome.reply);
        return;
      }
      // The client has hung up, or the host has answered in the meantime. (`undefined` says so in HTTP/2; `null` is a turn to come.)
      if (response.headersSent || response.destroyed || response.socket === undefined) return;
      const { principal, headers } = outcome;
      principals.set(request, principal);
      for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i] ?? '', headers[i + 1] ?? '');
      next();
    }
    const outcome = guard.admit(request, () => clientAddress(request));
    if (outcome instanceof Promise) outcome.then(proceed);
    else proceed(outcome);
  };
}

/** The guard around a handler from Request to Response, which is called for whom it admits. */
export function fetchGuard<Context extends unknown[] = unknown[]>(
  guard: Guard,
  handle: (request: Request, principal: Principal, ...context: Context) => Response | Promise<Response>,
  options: FetchMountOptions<Context> = {},
): (request: Request, ...context: Context) => Promise<Response> {
  const { clientAddress = ipOf } = options;
  return async (request, ...context) => {
    const outcome = await guard.admit(headOf(request), () => clientAddress(request, ...context));
    if (!outcome.admitted) return toResponse(outcome.reply);
    const answer = await handle(request, outcome.principal, ...context);
    return withFields(answer, outcome.headers);
  };
}

function withFields(answer: Response, fields: readonly string[]): Response {
  // What switches protocols, or is an error of the network, is no answer that could carry fields.
  if (answer.status < 200) return answer;
  // A copy, because the headers of a response that was fetched cannot be changed.
  const response = new Response(answer.body, answer);
  for (let i = 0; i < fields.length; i += 2) response.headers.set(fields[i] ?? '', fields[i + 1] ?? '');
  return response;
}
