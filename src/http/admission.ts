import { checkFields, checkFunction, checkMethods, checkOneOf } from '../check.js';
import type { Decision, Plan, RateLimiter } from '../limits/index.js';
import { createPlan, perMinute } from '../limits/index.js';
import { checkPlan } from '../limits/plan.js';
import type { MaybePromise } from '../orders/index.js';
import { addressKey, resolveAddress } from './client-address.js';
import type { ErrorCode } from './errors.js';
import { after, attempt, callHost, HostFailure } from './host-call.js';
import { limitFieldsOf, retryAfter, unavailableFields } from './rate-limit-fields.js';
import { type Outcome, outcomeOfFailure, type Reply, refusal } from './reply.js';
import type { ReadRequest } from './request.js';

/** The owner of an API key, and the plan that the owner has bought. */
export interface Principal {
  /** Identifies the owner in limiters and logs, so it must never be the API key itself. */
  readonly id: string;
  readonly plan: Plan;
}

/** Reports whether a value has an id and a plan. Principals without an id would share one quota. */
export function isPrincipal(value: Principal | undefined): value is Principal {
  return typeof value?.id === 'string' && value.id !== '' && Array.isArray(value.plan?.policies);
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
   * `authenticate` calls a backend that strangers could keep busy with made-up keys. If this
   * function returns `false` while the client's address is over its limit, `authenticate` is called
   * for one such request of the address at a time. The others get 429 meanwhile. Default: every key
   * is looked up. If this function throws, the client receives a 503.
   */
  readonly isKnownKey?: ((apiKey: string) => boolean) | undefined;
  /**
   * The plan for requests without a valid key, which are counted by client address. Must have
   * `partition: 'address'`. Default: 600 requests per minute.
   */
  readonly addressPlan?: Plan | undefined;
  /** Whether replies carry `RateLimit` and `RateLimit-Policy` (IETF draft). Default: true. */
  readonly draftFields?: boolean | undefined;
}

/** Creates a plan for addresses. Its policy name tells clients that no key's quota was charged. */
export function addressPerMinute(quota: number): Plan {
  const policies = [{ ...perMinute(quota), name: 'address-minute' }];
  return createPlan({ name: 'address', policies, partition: 'address' });
}

const ADDRESS_PLAN = addressPerMinute(600);

interface Charge extends Pick<Reply, 'charged'> {
  /** The plan whose limits the reply announces: the plan of the key, or the address plan. */
  readonly plan: Plan;
  /** The limiter's decision as header fields. */
  readonly limitFields: readonly string[];
}

interface Refused extends Charge {
  readonly principal: Principal | undefined;
  readonly refusal: Outcome;
}

/** What the front door has decided about a request. Without a refusal, the request goes on. */
export type Verdict<P = Principal | undefined> =
  | (Charge & { readonly principal: P; readonly refusal: undefined })
  | Refused;

/** Creates the functions that decide whether a request may be served. None throws or rejects. */
export function createAdmission(options: AdmissionOptions) {
  const { limiter, authenticate, isKnownKey = () => true, addressPlan = ADDRESS_PLAN, draftFields = true } = options;
  /** The addresses over their limit for which a key is being looked up. */
  const lookingUp = new Set<string>();

  /** Counts a request against its key. Without a valid key, counts it against its client's address. */
  function admit(request: ReadRequest): MaybePromise<Verdict<Principal>> {
    const { apiKey, keyFault, fault } = request;
    if (fault !== undefined || apiKey === undefined) return refuse(request, fault ?? keyFault);
    return refuseIfItFails(() => {
      const known = callHost('isKnownKey', () => isKnownKey(apiKey));
      return after(known, (isKnown) => (isKnown ? lookUp(request, apiKey) : lookUpUnknown(request, apiKey)));
    });
  }

  function lookUp(request: ReadRequest, apiKey: string): MaybePromise<Verdict<Principal>> {
    const authenticated = callHost('authenticate', () => authenticate(apiKey));
    return after(authenticated, (principal) => {
      if (principal === undefined || principal === null) return refuse(request, 'invalid_api_key');
      if (!isPrincipal(principal)) {
        throw new HostFailure('authenticate failed', new TypeError('expected a principal with an id and a plan'));
      }
      const { id, plan } = principal;
      return refuseIfItFails(() => take(id, plan, principal), plan, principal);
    });
  }

  /** Looks up a key that may be made up: one at a time for each address that is over its limit. */
  function lookUpUnknown(request: ReadRequest, apiKey: string): MaybePromise<Verdict<Principal>> {
    const bucket = addressKey(resolveAddress(request.clientAddress));
    const state = callHost('limiter.take', () => limiter.take(bucket, addressPlan, 0));
    return after(state, ({ inForce }) => {
      if (inForce.remaining > 0) return lookUp(request, apiKey);
      if (lookingUp.has(bucket)) {
        return after(takeFromAddress(request), (verdict) =>
          verdict.refusal === undefined ? lookUp(request, apiKey) : verdict,
        );
      }
      lookingUp.add(bucket);
      const verdict = refuseIfItFails(() => lookUp(request, apiKey));
      return after(verdict, (settled) => {
        lookingUp.delete(bucket);
        return settled;
      });
    });
  }

  function refuse(request: ReadRequest, code: ErrorCode): MaybePromise<Refused> {
    return after(takeFromAddress(request), (verdict) => ({ ...verdict, refusal: verdict.refusal ?? refusal(code) }));
  }

  function takeFromAddress(request: ReadRequest): MaybePromise<Verdict<undefined>> {
    return refuseIfItFails(() => take(addressKey(resolveAddress(request.clientAddress)), addressPlan, undefined));
  }

  function take<P extends Principal | undefined>(bucket: string, plan: Plan, principal: P): MaybePromise<Verdict<P>> {
    const charged = principal === undefined ? 'address' : 'key';
    const decision = callHost('limiter.take', () => limiter.take(bucket, plan));
    return after(decision, (decided) => {
      // Throws if the limiter has not returned a decision.
      const limitFields = limitFieldsOf(decided, draftFields);
      return { charged, plan, limitFields, principal, refusal: refusalOf(decided) };
    });
  }

  /** Runs a step. If it throws or rejects, the request is refused with 503 or 500. */
  function refuseIfItFails<V>(
    step: () => MaybePromise<V>,
    plan = addressPlan,
    principal?: Principal,
  ): MaybePromise<V | Refused> {
    return attempt(step, (error) => unchargedRefusal(outcomeOfFailure(error), plan, principal));
  }

  /** Counts a request against its client's address, without a look at its key. */
  function charge(request: ReadRequest): MaybePromise<Verdict<undefined>> {
    return request.fault === undefined ? takeFromAddress(request) : refuse(request, request.fault);
  }

  /** Returns the verdict on a request that arrives after the service was closed. */
  function turnAway(): Verdict {
    return unchargedRefusal(refusal('service_unavailable'), addressPlan);
  }

  return { admit, charge, turnAway };
}

function unchargedRefusal(outcome: Outcome, plan: Plan, principal?: Principal): Refused {
  return { charged: undefined, plan, limitFields: unavailableFields(plan), principal, refusal: outcome };
}

function refusalOf({ allowed, verdict, retryAfterMs }: Decision): Outcome | undefined {
  if (allowed) return undefined;
  const code = verdict === 'banned' ? 'api_key_banned' : 'rate_limit_exceeded';
  return refusal(code, 'Retry-After', retryAfter(retryAfterMs));
}

/**
 * Throws a TypeError or RangeError that names the invalid option. `others` are the names of further
 * allowed options.
 */
export function checkAdmissionOptions(options: AdmissionOptions, others: readonly string[] = []): void {
  checkFields('options', options, [...others, 'limiter', 'authenticate', 'isKnownKey', 'addressPlan', 'draftFields']);
  const { limiter, authenticate, isKnownKey, addressPlan, draftFields = true } = options;
  checkMethods('limiter', limiter, ['take']);
  checkFunction('authenticate', authenticate);
  if (isKnownKey !== undefined) checkFunction('isKnownKey', isKnownKey);
  checkOneOf('draftFields', draftFields, [true, false]);
  if (addressPlan === undefined) return;
  if (addressPlan?.partition !== 'address')
    throw new TypeError("addressPlan: expected a plan with partition 'address'");
  checkPlan(addressPlan);
}
