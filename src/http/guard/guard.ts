import {
  ADDRESS_PLAN,
  type AdmissionOptions,
  checkAdmissionOptions,
  createAdmission,
  type Principal,
} from '../admission.js';
import { type ClientAddress, createExchange } from '../exchange.js';
import { isPromise } from '../host-call.js';
import { attempt, finish, limitFieldsOf, type Reply } from '../reply.js';
import { type RequestHead, readHead, withRawHeaders } from '../request-head.js';
import { NOT_OURS } from '../route.js';

/**
 * Applies the key check, the quotas and the limit fields of the service to other routes of a host,
 * so that a key's quota covers the whole API. Give it the limiter and the `authenticate` of the
 * service. It never throws and never rejects.
 */
export interface Guard {
  /** Charges a request. Returns a promise only if the limiter or `authenticate` does. */
  admit(request: RequestHead, clientAddress?: ClientAddress): GuardOutcome | Promise<GuardOutcome>;
}

/**
 * If the request is admitted, the host responds and adds the limit fields in `headers` (alternating
 * names and values). Otherwise the host sends `reply`.
 */
export type GuardOutcome =
  | { readonly admitted: true; readonly principal: Principal; readonly headers: readonly string[] }
  | { readonly admitted: false; readonly reply: Reply };

/** Creates a guard. Throws a TypeError that names an invalid option. */
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
      const outcomeOf = (settled: GuardOutcome | Reply): GuardOutcome =>
        'admitted' in settled ? settled : { admitted: false, reply: finish(exchange, settled) };
      const result = attempt(exchange, identify);
      return isPromise(result) ? result.then(outcomeOf) : outcomeOf(result);
    },
  };
}
