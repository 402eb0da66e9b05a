import type { Decision, Plan, RateLimiter } from '../limits/index.js';
import { createPlan, perMinute } from '../limits/index.js';
import type { MaybePromise } from '../orders/index.js';
import { addressKey } from './client-address.js';
import type { ErrorCode } from './errors.js';
import type { Exchange } from './exchange.js';
import { afterHost, hostCall, isPromise } from './host-call.js';
import { checkMethods, checkOptions } from './options.js';
import { limitFields, retryAfter } from './rate-limit-fields.js';
import { type Reply, refusal } from './reply.js';

/** Who an API key belongs to: the key of its buckets, and the plan it has bought. */
export interface Principal {
  /** Never the API key itself: it is written into limiters and logs. */
  readonly id: string;
  readonly plan: Plan;
}

/**
 * Answers whose key it is, `undefined` for an unknown or revoked one. A throw or a rejection is
 * answered with 503.
 */
export type Authenticate = (apiKey: string) => MaybePromise<Principal | undefined>;

export interface AdmissionOptions {
  readonly limiter: RateLimiter;
  readonly authenticate: Authenticate;
  /**
   * Whether the key was valid lately, as far as this process remembers. Give it where
   * `authenticate` asks a backend that strangers could keep busy with keys they make up. An address
   * that is over its limit is then refused with 429 before a key is looked up for which this
   * returns `false`. Such a key may be valid: it is not charged, and is looked up again when its
   * address is within its limit. Without it every key is looked up, whatever its address has sent.
   */
  readonly isKnownKey?: ((apiKey: string) => boolean) | undefined;
  /**
   * The limit of an address that sends no valid key; of the partition `address`. Default: 600 a
   * minute.
   */
  readonly addressPlan?: Plan | undefined;
  /**
   * Whether replies also carry `RateLimit` and `RateLimit-Policy` of the IETF draft. Default: true.
   */
  readonly draftFields?: boolean | undefined;
}

/**
 * Returns the plan of an address with `quota` requests a minute. No policy of a key is named as its
 * own.
 */
export function addressPerMinute(quota: number): Plan {
  const policies = [{ ...perMinute(quota), name: 'address-minute' }];
  return createPlan({ name: 'address', policies, partition: 'address' });
}

export const ADDRESS_PLAN = addressPerMinute(600);

/**
 * The way of a request to what `serve` answers: identify, admit, serve, each called once by the one
 * before.
 */
export interface Admission<Served> {
  identify(exchange: Exchange): Served | Reply | Promise<Served | Reply>;
  /**
   * Charges a request without a valid key to its address alone, and refuses it with `code` or
   * replies with `reply`. Over the limit the connection closes: a client that does not stop pays
   * for a new one each time.
   */
  chargeAddress(exchange: Exchange, reply: ErrorCode | (() => Reply)): Reply | Promise<Reply>;
}

export function createAdmission<Served>(
  options: AdmissionOptions,
  serve: (exchange: Exchange, principal: Principal) => Served | Promise<Served>,
): Admission<Served> {
  const { limiter, authenticate, isKnownKey, addressPlan = ADDRESS_PLAN, draftFields = true } = options;

  function identify(exchange: Exchange): Served | Reply | Promise<Served | Reply> {
    const { apiKey, keyFault, fault } = exchange.head;
    if (fault !== undefined) return chargeAddress(exchange, fault);
    if (apiKey === undefined) return chargeAddress(exchange, keyFault);
    return isKnownKey === undefined || isKnownKey(apiKey)
      ? lookUp(exchange, apiKey)
      : lookUpWithinLimit(exchange, apiKey);
  }

  function lookUp(exchange: Exchange, apiKey: string): Served | Reply | Promise<Served | Reply> {
    const principal = hostCall(() => authenticate(apiKey));
    return isPromise(principal)
      ? afterHost(principal, (settled) => admit(exchange, settled))
      : admit(exchange, principal);
  }

  /**
   * Refuses an address that is over its limit; the address is charged only when the key turns out
   * not to be valid.
   */
  function lookUpWithinLimit(exchange: Exchange, apiKey: string): Served | Reply | Promise<Served | Reply> {
    const look = ({ inForce }: Decision) =>
      inForce.remaining > 0 ? lookUp(exchange, apiKey) : takeFromAddress(exchange, () => lookUp(exchange, apiKey));
    const decision = hostCall(() => limiter.take(addressKey(addressOf(exchange)), addressPlan, 0));
    return isPromise(decision) ? afterHost(decision, look) : look(decision);
  }

  function admit(exchange: Exchange, principal: Principal | undefined): Served | Reply | Promise<Served | Reply> {
    // `null` is not in the type, but a host's look-up may answer it: no such key all the same.
    if (principal === undefined || principal === null) return chargeAddress(exchange, 'invalid_api_key');
    const { id, plan } = principal;
    exchange.keyId = id;
    exchange.plan = plan;
    const decision = hostCall(() => limiter.take(id, plan));
    return isPromise(decision)
      ? afterHost(decision, (settled) => follow(exchange, principal, settled))
      : follow(exchange, principal, decision);
  }

  function follow(
    exchange: Exchange,
    principal: Principal,
    decision: Decision,
  ): Served | Reply | Promise<Served | Reply> {
    // Before anything is done, so that a limiter that answers no decision fails here.
    exchange.limitFields = limitFields(decision, draftFields);
    return decision.allowed ? serve(exchange, principal) : overLimit(exchange, decision);
  }

  function chargeAddress(exchange: Exchange, reply: ErrorCode | (() => Reply)): Reply | Promise<Reply> {
    exchange.plan = addressPlan;
    return takeFromAddress(exchange, () => (typeof reply === 'string' ? refusal(exchange, reply) : reply()));
  }

  function takeFromAddress<R>(exchange: Exchange, next: () => R | Promise<R>): R | Reply | Promise<R | Reply> {
    const charge = (decision: Decision): R | Reply | Promise<R | Reply> => {
      exchange.limitFields = limitFields(decision, draftFields);
      exchange.isLast = !decision.allowed;
      return decision.allowed ? next() : overLimit(exchange, decision);
    };
    const decision = hostCall(() => limiter.take(addressKey(addressOf(exchange)), addressPlan));
    return isPromise(decision) ? afterHost(decision, charge) : charge(decision);
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

const ADMISSION_OPTIONS: Readonly<Record<keyof AdmissionOptions, true>> = {
  limiter: true,
  authenticate: true,
  isKnownKey: true,
  addressPlan: true,
  draftFields: true,
};

/** Throws a TypeError that names the option; those in `others` are known too. */
export function checkAdmissionOptions(options: AdmissionOptions, others: readonly string[] = []): void {
  checkOptions(options, [...others, ...Object.keys(ADMISSION_OPTIONS)]);
  const { limiter, authenticate, isKnownKey, addressPlan } = options;
  checkMethods('limiter', limiter, ['take']);
  if (typeof authenticate !== 'function') throw new TypeError('authenticate: expected a function');
  if (isKnownKey !== undefined && typeof isKnownKey !== 'function') {
    throw new TypeError('isKnownKey: expected a function');
  }
  if (addressPlan !== undefined && addressPlan?.partition !== 'address') {
    throw new TypeError("addressPlan: expected a plan of the partition 'address'");
  }
}
