import type { Decision, Plan, RateLimiter } from '../limits/index.js';
import { createPlan, perMinute } from '../limits/index.js';
import type { MaybePromise } from '../orders/index.js';
import { addressKey } from './client-address.js';
import type { ErrorCode } from './errors.js';
import { type Exchange, isPromise } from './exchange.js';
import { limitFields, retryAfter } from './rate-limit-fields.js';
import { type Reply, refusal } from './reply.js';

/** Who an API key belongs to: the key of its buckets, and the plan it has bought. */
export interface Principal {
  /** Never the API key itself: it is written into limiters and logs. */
  readonly id: string;
  readonly plan: Plan;
}

/** Answers whose key it is, `undefined` for an unknown or revoked one. A throw or a rejection is answered with 503. */
export type Authenticate = (apiKey: string) => MaybePromise<Principal | undefined>;

export interface AdmissionOptions {
  readonly limiter: RateLimiter;
  readonly authenticate: Authenticate;
  /**
   * Whether the key was valid lately, as far as this process remembers. Give it where `authenticate` asks a backend that
   * strangers could keep busy with keys they make up. An address that is over its limit is then refused with 429 before a
   * key is looked up for which this returns `false`. Such a key may be valid: it is not charged, and is looked up again
   * when its address is within its limit. Without it every key is looked up, whatever its address has sent.
   */
  readonly isKnownKey?: ((apiKey: string) => boolean) | undefined;
  /** The limit of an address that sends no valid key; of the partition `address`. Default: 600 a minute. */
  readonly addressPlan?: Plan | undefined;
  /** Whether replies also carry `RateLimit` and `RateLimit-Policy` of the IETF draft. Default: true. */
  readonly draftFields?: boolean | undefined;
}

/** Returns the plan of an address with `quota` requests a minute. No policy of a key is named as its own. */
export function addressPerMinute(quota: number): Plan {
  const policies = [{ ...perMinute(quota), name: 'address-minute' }];
  return createPlan({ name: 'address', policies, partition: 'address' });
}

export const ADDRESS_PLAN = addressPerMinute(600);

/** The way of a request to what `serve` answers: identify, admit, serve, each called once by the one before. */
export interface Admission<Served> {
  identify(exchange: Exchange): Served | Reply | Promise<Served | Reply>;
  /**
   * Charges a request without a valid key to its address alone, and refuses it with `code` or replies with `reply`. Over
   * the limit the connection closes: a client that does not stop pays for a new one each time.
   */
  chargeAddress(exchange: Exchange, reply: ErrorCode | (() => Reply)): Reply | Promise<Reply>;
}

export function createAdmission<Served>(
  options: AdmissionOptions,
  serve: (exchange: Exchange, principal: Principal) => Served | Promise<Served>,
): Admission<Served> {
  const { limiter, authenticate, isKnownKey, addressPlan = ADDRESS_PLAN, draftFields = true } = options;

  function identify(exchange: Exchange): Served | Reply | Promise<Served | Reply> {
    const { apiKey, keyFault, hasBadHost } = exchange.head;
    if (hasBadHost) return chargeAddress(exchange, 'bad_request');
    if (apiKey === undefined) return chargeAddress(exchange, keyFault);
    exchange.isAsking = true;
    return isKnownKey === undefined || isKnownKey(apiKey)
      ? lookUp(exchange, apiKey)
      : lookUpWithinLimit(exchange, apiKey);
  }

  function lookUp(exchange: Exchange, apiKey: string): Served | Reply | Promise<Served | Reply> {
    const principal = authenticate(apiKey);
    if (!isPromise(principal)) return admit(exchange, principal);
    return Promise.resolve(principal).then((settled) => admit(exchange, settled));
  }

  /** Refuses an address that is over its limit; the address is charged only when the key turns out not to be valid. */
  async function lookUpWithinLimit(exchange: Exchange, apiKey: string): Promise<Served | Reply> {
    const address = addressKey(addressOf(exchange));
    const { inForce } = await limiter.take(address, addressPlan, 0);
    if (inForce.remaining === 0) {
      const decision = await limiter.take(address, addressPlan);
      // Allowed where the window has reset in between, and in shadow mode.
      if (!decision.allowed) {
        decided(exchange, decision);
        return overLimit(exchange, decision);
      }
    }
    return lookUp(exchange, apiKey);
  }

  function admit(exchange: Exchange, principal: Principal | undefined): Served | Reply | Promise<Served | Reply> {
    exchange.isAsking = false;
    // `null` is not in the type, but a host's look-up may answer it: no such key all the same.
    if (principal === undefined || principal === null) return chargeAddress(exchange, 'invalid_api_key');
    exchange.keyId = principal.id;
    exchange.plan = principal.plan;
    exchange.isAsking = true;
    const decision = limiter.take(principal.id, principal.plan);
    if (!isPromise(decision)) return admitted(exchange, principal, decision);
    return Promise.resolve(decision).then((settled) => admitted(exchange, principal, settled));
  }

  function admitted(
    exchange: Exchange,
    principal: Principal,
    decision: Decision,
  ): Served | Reply | Promise<Served | Reply> {
    decided(exchange, decision);
    return decision.allowed ? serve(exchange, principal) : overLimit(exchange, decision);
  }

  function chargeAddress(exchange: Exchange, reply: ErrorCode | (() => Reply)): Reply | Promise<Reply> {
    exchange.plan = addressPlan;
    exchange.isAsking = true;
    const decision = limiter.take(addressKey(addressOf(exchange)), addressPlan);
    if (!isPromise(decision)) return charged(exchange, decision, reply);
    return Promise.resolve(decision).then((settled) => charged(exchange, settled, reply));
  }

  function charged(exchange: Exchange, decision: Decision, reply: ErrorCode | (() => Reply)): Reply {
    decided(exchange, decision);
    exchange.isLast = !decision.allowed;
    if (!decision.allowed) return overLimit(exchange, decision);
    return typeof reply === 'string' ? refusal(exchange, reply) : reply();
  }

  /** Printed at once, so that a limiter that answers no decision has failed before anything is done. */
  function decided(exchange: Exchange, decision: Decision): void {
    exchange.limitFields = limitFields(decision, draftFields);
    exchange.isAsking = false;
  }

  return { identify, chargeAddress };
}

function overLimit(exchange: Exchange, { verdict, retryAfterMs }: Decision): Reply {
  const code = verdict === 'banned' ? 'api_key_banned' : 'rate_limit_exceeded';
  return refusal(exchange, code, 'Retry-After', retryAfter(retryAfterMs));
}

function addressOf({ clientAddress }: Exchange): string | undefined {
  return typeof clientAddress === 'function' ? clientAddress() : clientAddress;
}

/** Throws a TypeError that names the option. */
export function checkAdmissionOptions({ limiter, authenticate, isKnownKey, addressPlan }: AdmissionOptions): void {
  checkMethods('limiter', limiter, ['take']);
  if (typeof authenticate !== 'function') throw new TypeError('authenticate: expected a function');
  if (isKnownKey !== undefined && typeof isKnownKey !== 'function') {
    throw new TypeError('isKnownKey: expected a function');
  }
  if (addressPlan !== undefined && addressPlan?.partition !== 'address') {
    throw new TypeError("addressPlan: expected a plan of the partition 'address'");
  }
}

export function checkMethods(option: string, part: unknown, names: readonly string[]): void {
  for (const name of names) {
    if (typeof part !== 'object' || part === null || typeof Reflect.get(part, name) !== 'function') {
      throw new TypeError(`${option}: expected an object with the method ${name}`);
    }
  }
}
