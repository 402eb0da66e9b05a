import { checkFields } from '../../check.js';
import {
  ADMISSION_FIELDS,
  ADMISSION_REQUIRED,
  type AdmissionOptions,
  checkAdmissionOptions,
  type Principal,
} from '../admission.js';
import type { ClientAddress } from '../client-address.js';
import { createFrontDoor } from '../front-door.js';
import { after } from '../maybe-promise.js';
import type { Reply } from '../reply.js';
import type { RequestHead } from '../request.js';

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
  admit(request: RequestHead, clientAddress?: ClientAddress): GuardResult | Promise<GuardResult>;
}

/**
 * If the request is admitted, the caller sends its own response and adds the rate-limit fields in
 * `headers` (alternating names and values). Otherwise the caller sends `reply`.
 */
export type GuardResult =
  | { readonly admitted: true; readonly principal: Principal; readonly headers: readonly string[] }
  | { readonly admitted: false; readonly reply: Reply };

/** Creates a guard. Throws a TypeError or RangeError that names an invalid option. */
export function createGuard(options: AdmissionOptions): Guard {
  checkFields('options', options, ADMISSION_FIELDS, ADMISSION_REQUIRED);
  checkAdmissionOptions(options);
  const door = createFrontDoor(options);
  return {
    admit(head, clientAddress) {
      const request = door.read(head, clientAddress);
      return after(door.admit(request), (verdict): GuardResult => {
        const { principal, limitFields, refusal } = verdict;
        if (refusal === undefined) return { admitted: true, principal, headers: limitFields };
        // A client that reads only after its upload would lose a reply that closes the connection.
        const hasContent = request.hasContent && principal === undefined;
        return { admitted: false, reply: door.reply({ ...request, hasContent }, verdict, refusal) };
      });
    },
  };
}
