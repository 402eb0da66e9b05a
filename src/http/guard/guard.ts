import {
  ADDRESS_PLAN,
  type AdmissionOptions,
  checkAdmissionOptions,
  createAdmission,
  type Principal,
} from '../admission.js';
import { type ClientAddress, createExchange } from '../exchange.js';
import { isPromise } from '../host-call.js';
import { attempt, finish, limitFieldsOf, type Outcome, type Reply } from '../reply.js';
import { type RequestHead, readHead, withRawHeaders } from '../request-head.js';
import { NOT_OURS } from '../route.js';

/**
 * Protects other routes of the embedding program in the same way as the routes of the service:
 * checks the key, applies the quotas of the key, and returns the rate-limit fields. Give the guard
 * the limiter and the `authenticate` of the service, so that one quota covers the whole API.
 * `admit` never throws and never rejects.
 */
export interface Guard {
  /**
   * Checks the key of a request, and counts the request against the key's quota. Returns a promise
   * only if the limiter or `authenticate` returns one.
   */
  admit(request: RequestHead, clientAddress?: ClientAddress): GuardOutcome | Promise<GuardOutcome>;
}

/**
 * If the request is admitted, the caller sends its own response and adds the rate-limit fields in
 * `headers` (alternating names and values). Otherwise the caller sends `reply`.
 */
export type GuardOutcome =
  | { readonly admitted: true; readonly principal: Principal; readonly headers: readonly string[] }
  | { readonly admitted: false; readonly reply: Reply };

/** Creates a guard. Throws a TypeError or RangeError that names an invalid option. */
export function createGuard(options: AdmissionOptions): Guard {
  checkAdmissionOptions(options);
  const { addressPlan = ADDRESS_PLAN } = options;
  const { identify } = createAdmission(options, (exchange, principal) => ({
    admitted: true as const,
    principal,
    headers: limitFieldsOf(exchange),
  }));
  return {
    admit(received, clientAddress) {
      const request = withRawHeaders(received);
      const { method, url, rawHeaders } = request;
      const head = readHead(request);
      const exchange = createExchange(NOT_OURS, method, url, rawHeaders, head, clientAddress, addressPlan);
      const outcomeOf = (settled: Extract<GuardOutcome, { admitted: true }> | Outcome): GuardOutcome =>
        'admitted' in settled ? settled : { admitted: false, reply: finish(exchange, settled) };
      const result = attempt(exchange, identify);
      return isPromise(result) ? result.then(outcomeOf) : outcomeOf(result);
    },
  };
}
