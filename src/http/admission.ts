import { checkFields, checkFunction, checkMethods, checkOneOf } from '../check.js';
import type { Decision, Plan, RateLimiter } from '../limits/index.js';
import { createPlan, perMinute } from '../limits/index.js';
import { checkPlan } from '../limits/plan.js';
import type { MaybePromise } from '../orders/index.js';
import { addressKey } from './client-address.js';
import type { ErrorCode } from './errors.js';
import { addressOf, type Exchange } from './exchange.js';
import { afterHost, failHost, hostCall, isPromise } from './host-call.js';
import { limitFields, retryAfter } from './rate-limit-fields.js';
import { type Outcome, refusal } from './reply.js';

/** The owner of an API key, and the plan that the owner has bought. */
export interface Principal {
  /** Identifies the owner in limiters and logs, so it must never be the API key itself. */
  readonly id: string;
  readonly plan: Plan;
}

/**
 * Returns the principal of an API key, or `undefined` if the key is unknown or revoked. If the
 * function throws or rejects, the client receives a 503.
 */
export type Authenticate = (apiKey: string) => MaybePromise<Principal | undefined>;

export interface AdmissionOptions {
  readonly limiter: RateLimiter;
  readonly authenticate: Authenticate;
  /**
   * Returns whether this process remembers the key as recently valid. Provide this function if
   * `authenticate` calls a backend that strangers could keep busy with made-up keys. If it returns
   * `false`, the key is looked up only while the client's address is within its limit. Over that
   * limit, the request is refused with 429. Without this function, every key is looked up. If this
   * function throws, or returns anything but `true` or `false`, the client receives a 503.
   */
  readonly isKnownKey?: ((apiKey: string) => boolean) | undefined;
  /**
   * The plan for requests without a valid key, which are counted by client address. Must have
   * `partition: 'address'`. Default: 600 requests per minute.
   */
  readonly addressPlan?: Plan | undefined;
  /**
   * Whether replies also carry the fields `RateLimit` and `RateLimit-Policy` of the IETF draft.
   * Default: true.
   */
  readonly draftFields?: boolean | undefined;
}

/**
 * Returns a plan that allows each address `quota` requests per minute. Its policy is named
 * `address-minute`, to tell it from the policy `minute` of the fixed plans.
 */
export function addressPerMinute(quota: number): Plan {
  const policies = [{ ...perMinute(quota), name: 'address-minute' }];
  return createPlan({ name: 'address', policies, partition: 'address' });
}

export const ADDRESS_PLAN = addressPerMinute(600);

/**
 * Decides whether a request may be served. `identify` checks the key, counts the request against
 * the key's quota, and then calls `serve`.
 */
export interface Admission<Served> {
  identify(exchange: Exchange): Served | Outcome | Promise<Served | Outcome>;
  /**
   * Counts a request without a valid key against the limit of its client address. `reply` is the
   * code of the error reply to return, or a function that makes the reply. If the address is over
   * its limit, returns a 429 instead and closes the connection, so that a client that keeps sending
   * must open a new connection for each request.
   */
  chargeAddress(exchange: Exchange, reply: ErrorCode | (() => Outcome)): Outcome | Promise<Outcome>;
}

export function createAdmission<Served>(
  options: AdmissionOptions,
  serve: (exchange: Exchange, principal: Principal) => Served | Promise<Served>,
): Admission<Served> {
  const { limiter, authenticate, isKnownKey, addressPlan = ADDRESS_PLAN, draftFields = true } = options;

  function identify(exchange: Exchange): Served | Outcome | Promise<Served | Outcome> {
    const { apiKey, keyFault, fault } = exchange.head;
    if (fault !== undefined) return chargeAddress(exchange, fault);
    if (apiKey === undefined) return chargeAddress(exchange, keyFault);
    return isKnownKey === undefined || isKnown(isKnownKey, apiKey)
      ? lookUp(exchange, apiKey)
      : lookUpWithinLimit(exchange, apiKey);
  }

  function lookUp(exchange: Exchange, apiKey: string): Served | Outcome | Promise<Served | Outcome> {
    const principal = hostCall('authenticate', () => authenticate(apiKey));
    return isPromise(principal)
      ? afterHost('authenticate', principal, (settled) => admit(exchange, settled))
      : admit(exchange, principal);
  }

  /**
   * Looks up a key, unless the client's address is over its limit. The request counts against the
   * address only if the key turns out to be invalid.
   */
  function lookUpWithinLimit(exchange: Exchange, apiKey: string): Served | Outcome | Promise<Served | Outcome> {
    const look = ({ inForce }: Decision) =>
      inForce.remaining > 0 ? lookUp(exchange, apiKey) : takeFromAddress(exchange, () => lookUp(exchange, apiKey));
    const decision = hostCall('limiter.take', () => limiter.take(addressKey(addressOf(exchange)), addressPlan, 0));
    return isPromise(decision) ? afterHost('limiter.take', decision, look) : look(decision);
  }

  function admit(exchange: Exchange, principal: Principal | undefined): Served | Outcome | Promise<Served | Outcome> {
    // An `authenticate` written in JavaScript can also return `null` for an unknown key.
    if (principal === undefined || principal === null) return chargeAddress(exchange, 'invalid_api_key');
    const { id, plan } = principal;
    // Principals without an id would all share one quota.
    if (typeof id !== 'string' || id === '') return failPrincipal('id');
    if (!Array.isArray(plan?.policies)) return failPrincipal('plan');
    exchange.keyId = id;
    exchange.plan = plan;
    const decision = hostCall('limiter.take', () => limiter.take(id, plan));
    return isPromise(decision)
      ? afterHost('limiter.take', decision, (settled) => follow(exchange, principal, settled))
      : follow(exchange, principal, decision);
  }

  function follow(
    exchange: Exchange,
    principal: Principal,
    decision: Decision,
  ): Served | Outcome | Promise<Served | Outcome> {
    // `limitFields` throws if the limiter has not returned a decision. It is called before `serve`,
    // so that no request is served without a decision.
    exchange.limitFields = limitFields(decision, draftFields);
    exchange.charged = 'key';
    exchange.isOverLimit = !decision.allowed;
    return decision.allowed ? serve(exchange, principal) : overLimit(exchange, decision);
  }

  function chargeAddress(exchange: Exchange, reply: ErrorCode | (() => Outcome)): Outcome | Promise<Outcome> {
    exchange.plan = addressPlan;
    return takeFromAddress(exchange, () => (typeof reply === 'string' ? refusal(exchange, reply) : reply()));
  }

  function takeFromAddress<R>(exchange: Exchange, next: () => R | Promise<R>): R | Outcome | Promise<R | Outcome> {
    const charge = (decision: Decision): R | Outcome | Promise<R | Outcome> => {
      exchange.limitFields = limitFields(decision, draftFields);
      exchange.charged = 'address';
      exchange.isOverLimit = !decision.allowed;
      exchange.isLast = !decision.allowed;
      return decision.allowed ? next() : overLimit(exchange, decision);
    };
    const decision = hostCall('limiter.take', () => limiter.take(addressKey(addressOf(exchange)), addressPlan));
    return isPromise(decision) ? afterHost('limiter.take', decision, charge) : charge(decision);
  }

  return { identify, chargeAddress };
}

function overLimit(exchange: Exchange, { verdict, retryAfterMs }: Decision): Outcome {
  const code = verdict === 'banned' ? 'api_key_banned' : 'rate_limit_exceeded';
  return refusal(exchange, code, 'Retry-After', retryAfter(retryAfterMs));
}

function isKnown(isKnownKey: (apiKey: string) => boolean, apiKey: string): boolean {
  const known: unknown = hostCall('isKnownKey', () => isKnownKey(apiKey));
  if (typeof known === 'boolean') return known;
  // A promise would otherwise count as true, and made-up keys would keep the backend busy.
  return failHost('isKnownKey did not return true or false', new TypeError('isKnownKey: expected true or false'));
}

function failPrincipal(lacking: keyof Principal): never {
  failHost(`authenticate returned a principal without ${lacking}`, new TypeError(`principal.${lacking}: missing`));
}

const ADMISSION_OPTIONS: Readonly<Record<keyof AdmissionOptions, true>> = {
  limiter: true,
  authenticate: true,
  isKnownKey: true,
  addressPlan: true,
  draftFields: true,
};

/**
 * Throws a TypeError or RangeError that names an invalid or unknown option. `others` are the names
 * of further allowed options.
 */
export function checkAdmissionOptions(options: AdmissionOptions, others: readonly string[] = []): void {
  checkFields('options', options, [...others, ...Object.keys(ADMISSION_OPTIONS)]);
  const { limiter, authenticate, isKnownKey, addressPlan, draftFields } = options;
  checkMethods('limiter', limiter, ['take']);
  checkFunction('authenticate', authenticate);
  if (isKnownKey !== undefined) checkFunction('isKnownKey', isKnownKey);
  if (addressPlan !== undefined && addressPlan?.partition !== 'address') {
    throw new TypeError("addressPlan: expected a plan with partition 'address'");
  }
  if (addressPlan !== undefined) checkPlan(addressPlan);
  if (draftFields !== undefined) checkOneOf('draftFields', draftFields, [true, false]);
}
