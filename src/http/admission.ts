import { checkFields, checkFunction, checkMethods, checkOneOf } from '../check.js';
import type { Decision, Plan, RateLimiter } from '../limits/index.js';
import { createPlan, perMinute } from '../limits/index.js';
import { checkPlan } from '../limits/plan.js';
import type { MaybePromise } from '../orders/index.js';
import { addressKey, resolveAddress } from './client-address.js';
import type { ErrorCode } from './errors.js';
import { after, attempt, callHost, HostFailure } from './host-call.js';
import { createLimitFields, retryAfter, unavailableFields } from './rate-limit-fields.js';
import { failed, type Outcome, refusal, UNAVAILABLE_MS } from './reply.js';
import type { ReadRequest } from './request.js';

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

const ADDRESS_PLAN = addressPerMinute(600);

/** What the front door has decided about a request: who was charged, and whether it may go on. */
interface Charge {
  /** Whose quota was charged. `undefined` if the limiter made no decision. */
  readonly charged: 'key' | 'address' | undefined;
  /** Whether the address was charged and is over its limit. The connection then ends. */
  readonly isAddressOverLimit: boolean;
  /** The plan whose limits the reply announces: that of the key, or else the address plan. */
  readonly plan: Plan;
  /** The limiter's decision as header fields. */
  readonly limitFields: readonly string[];
}

interface Passed<P> extends Charge {
  readonly principal: P;
  readonly refusal: undefined;
}

interface Refused extends Charge {
  readonly principal: Principal | undefined;
  readonly refusal: Outcome;
}

export type Verdict<P = Principal | undefined> = Passed<P> | Refused;

/** Decides whether a request may be served. No method throws, rejects, or serves the request. */
export interface Admission {
  /**
   * Checks the key of a request, and counts the request against the key's quota. Without a valid
   * key, the request is refused, and counts against the limit of its client's address.
   */
  admit(request: ReadRequest): MaybePromise<Verdict<Principal>>;
  /**
   * Counts a request against the limit of its client's address, without a look at its key. The
   * request is refused if the address is over its limit, or if the head is invalid.
   */
  charge(request: ReadRequest): MaybePromise<Verdict<undefined>>;
  /** Returns the verdict on a request that arrives after the service was closed. */
  turnAway(): Refused;
}

export function createAdmission(options: AdmissionOptions): Admission {
  const { limiter, authenticate, isKnownKey, addressPlan = ADDRESS_PLAN, draftFields = true } = options;
  const limitFields = createLimitFields(draftFields);

  function admit(request: ReadRequest): MaybePromise<Verdict<Principal>> {
    const { apiKey, keyFault, fault } = request;
    if (fault !== undefined || apiKey === undefined) return refuse(request, fault ?? keyFault);
    return attempt(
      () => (isKnown(isKnownKey, apiKey) ? lookUp(request, apiKey) : lookUpWithinLimit(request, apiKey)),
      (error) => failure(error, addressPlan),
    );
  }

  function lookUp(request: ReadRequest, apiKey: string): MaybePromise<Verdict<Principal>> {
    return callHost(
      'authenticate',
      () => authenticate(apiKey),
      (principal) => {
        // An `authenticate` written in JavaScript can also return `null` for an unknown key.
        if (principal === undefined || principal === null) return refuse(request, 'invalid_api_key');
        const { id, plan } = principal;
        // Principals without an id would all share one quota.
        if (typeof id !== 'string' || id === '') return failPrincipal('id');
        if (!Array.isArray(plan?.policies)) return failPrincipal('plan');
        return take('key', id, plan, principal);
      },
    );
  }

  /**
   * Looks up a key, unless the client's address is over its limit. The request counts against the
   * address only if the key turns out to be invalid.
   */
  function lookUpWithinLimit(request: ReadRequest, apiKey: string): MaybePromise<Verdict<Principal>> {
    return callHost(
      'limiter.take',
      () => limiter.take(addressKey(resolveAddress(request.clientAddress)), addressPlan, 0),
      ({ inForce }) => {
        if (inForce.remaining > 0) return lookUp(request, apiKey);
        return after(takeFromAddress(request), (verdict) =>
          verdict.refusal === undefined ? lookUp(request, apiKey) : verdict,
        );
      },
    );
  }

  function refuse(request: ReadRequest, code: ErrorCode): MaybePromise<Refused> {
    return after(takeFromAddress(request), (verdict) =>
      verdict.refusal === undefined ? { ...verdict, refusal: refusal(code) } : verdict,
    );
  }

  function takeFromAddress(request: ReadRequest): MaybePromise<Verdict<undefined>> {
    let bucket: string;
    try {
      bucket = addressKey(resolveAddress(request.clientAddress));
    } catch (error) {
      return failure(error, addressPlan);
    }
    return take('address', bucket, addressPlan, undefined);
  }

  function take<P extends Principal | undefined>(
    charged: 'key' | 'address',
    bucket: string,
    plan: Plan,
    principal: P,
  ): MaybePromise<Verdict<P>> {
    return attempt<Verdict<P>, Refused>(
      () =>
        callHost(
          'limiter.take',
          () => limiter.take(bucket, plan),
          (decision) => {
            // This throws if the limiter has not returned a decision.
            const fields = limitFields(decision);
            return decision.allowed
              ? { charged, isAddressOverLimit: false, plan, limitFields: fields, principal, refusal: undefined }
              : {
                  charged,
                  isAddressOverLimit: charged === 'address',
                  plan,
                  limitFields: fields,
                  principal,
                  refusal: overLimit(decision),
                };
          },
        ),
      (error) => failure(error, plan, principal),
    );
  }

  return {
    admit,
    charge: (request) => (request.fault === undefined ? takeFromAddress(request) : refuse(request, request.fault)),
    turnAway: () => ({ ...uncharged(addressPlan, undefined), refusal: refusal('service_unavailable') }),
  };
}

function failure(error: unknown, plan: Plan, principal?: Principal): Refused {
  return { ...uncharged(plan, principal), refusal: failed(error) };
}

function uncharged(plan: Plan, principal: Principal | undefined) {
  const limitFields = unavailableFields(plan, Date.now() + UNAVAILABLE_MS);
  return { charged: undefined, isAddressOverLimit: false, plan, limitFields, principal };
}

function overLimit({ verdict, retryAfterMs }: Decision): Outcome {
  const code = verdict === 'banned' ? 'api_key_banned' : 'rate_limit_exceeded';
  return refusal(code, 'Retry-After', retryAfter(retryAfterMs));
}

function isKnown(isKnownKey: AdmissionOptions['isKnownKey'], apiKey: string): boolean {
  if (isKnownKey === undefined) return true;
  let known: unknown;
  try {
    known = isKnownKey(apiKey);
  } catch (error) {
    throw new HostFailure('isKnownKey failed', error);
  }
  if (typeof known === 'boolean') return known;
  // A promise would otherwise count as true, and made-up keys would keep the backend busy.
  const error = new TypeError('isKnownKey: expected true or false');
  throw new HostFailure('isKnownKey did not return true or false', error);
}

function failPrincipal(lacking: keyof Principal): never {
  const error = new TypeError(`principal.${lacking}: missing`);
  throw new HostFailure(`authenticate returned a principal without ${lacking}`, error);
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
