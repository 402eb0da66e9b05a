import { hash } from 'node:crypto';
import { isPrincipal, type Principal } from './admission.js';
import { bearerToken } from './request.js';

/**
 * Creates an `authenticate` function for a fixed set of keys. It stores only their SHA-256 digests
 * and looks a key up by its digest, so the time of a look-up does not help to guess a key.
 *
 * Throws a TypeError for a key that no client can send as a bearer token (RFC 6750 §2.1), and for a
 * principal without a plan or with an invalid id. The message has the position of the entry and
 * never contains the key. Also throws for a `Map` or a list of keys.
 *
 * @example
 * ```ts
 * import { createKeyAuthenticator, PLANS } from 'store-orders';
 *
 * const authenticate = createKeyAuthenticator({
 *   'open-sesame': { id: 'customer-1', plan: PLANS.free },
 * });
 * ```
 */
export function createKeyAuthenticator(
  keys: Readonly<Record<string, Principal>>,
): (apiKey: string) => Principal | undefined {
  // A `Map` has no properties, so every key would be refused without an error.
  if (typeof keys !== 'object' || keys === null || Symbol.iterator in keys) {
    throw new TypeError('keys: expected an object that maps each API key to a principal');
  }
  const principals = new Map<string, Principal>();
  for (const [index, [apiKey, principal]] of Object.entries(keys).entries()) {
    const where = `keys: entry ${index + 1}`;
    // An unset environment variable becomes the key `undefined`.
    if (bearerToken(`Bearer ${apiKey}`) !== apiKey || apiKey === 'undefined') {
      throw new TypeError(
        `${where}: expected an API key of letters, digits and "-._~+/", perhaps with "=" at its end, and not "undefined"`,
      );
    }
    if (!isPrincipal(principal) || principal.id === apiKey) {
      throw new TypeError(`${where}: expected a principal with a plan, and with an id that is not the API key itself`);
    }
    principals.set(digest(apiKey), principal);
  }
  return (apiKey) => principals.get(digest(apiKey));
}

function digest(apiKey: string): string {
  return hash('sha256', apiKey, 'base64');
}
