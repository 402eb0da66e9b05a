import { checkFunction, checkMethods, checkOneOf, checkWholeNumber, DEFAULTS } from '../check.js';
import type { Decision, Plan, RateLimiter } from '../limits/index.js';
import { createPlan, perMinute } from '../limits/index.js';
import { checkPlan } from '../limits/plan.js';
import type { MaybePromise } from '../orders/index.js';
import { addressKey, resolveAddress } from './client-address.js';
import { createHostPart, FIRST_WAIT_MS, HostFailure } from './host-part.js';
import { after, attempt } from './maybe-promise.js';
import { limitFieldsOf, retryAfter, unavailableFields } from './rate-limit-fields.js';
import { errorOutcome, type Outcome, outcomeOfFailure, type Reply, unavailable } from './reply.js';
import type { ReplyMessage } from './reporting.js';
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
   * Authenticates a key that this process remembers as recently valid. Returns `undefined` for every
   * other key, without calling a backend. Provide this function if `authenticate` calls a backend
   * that strangers could keep busy with guessed keys. Then `authenticate` gets only the other keys.
   * If `authenticate` fails, the client's address is charged. While the address is over its limit,
   * `authenticate` is called for one request of the address at a time. The others get 429 meanwhile.
   * Default: every key is given to `authenticate`.
   */
  readonly authenticateKnown?: Authenticate | undefined;
  /**
   * The plan for requests without a valid key, which are counted by client address. Must have
   * `partition: 'address'`. Default: 600 requests per minute.
   */
  readonly addressPlan?: Plan | undefined;
  /** Whether replies carry `RateLimit` and `RateLimit-Policy` (IETF draft). Default: true. */
  readonly draftFields?: boolean | undefined;
  /**
   * Called with the message of each of these replies. The diagnostics channel has those of the whole
   * process. If the function throws or rejects, a process warning reports it. Default: no function.
   */
  readonly onReply?: ((message: ReplyMessage) => void) | undefined;
  /** Called as `onReply` is, but only with the message of a reply that has an `error`. */
  readonly onFailure?: ((message: ReplyMessage) => void) | undefined;
}

/**
 * Creates a plan for addresses, with this many requests per minute. Its policy name tells clients
 * that no key's quota was charged. Throws a RangeError or TypeError for an invalid quota.
 */
export function addressPerMinute(quota: number): Plan {
  checkWholeNumber('quota', quota, 1);
  const policies = [{ ...perMinute(quota), name: 'address-minute' }];
  return createPlan({ name: 'address', policies, partition: 'address' });
}

const ADDRESS_PLAN = addressPerMinute(DEFAULTS.addressPerMinute);

interface Charge extends Pick<Reply, 'chargedTo'> {
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

/**
 * How long a client should wait if a key of its address is being looked up. `Retry-After` has whole
 * seconds, and a look-up takes less than one.
 */
const LOOK_UP_MS = 1_000;

/** Creates the functions that decide whether a request may be served. None throws or rejects. */
export function createAdmission(options: AdmissionOptions) {
  const { limiter, authenticate, authenticateKnown, addressPlan = ADDRESS_PLAN, draftFields = true } = options;
  const authenticating = createHostPart('authenticate');
  const recalling = createHostPart('authenticateKnown');
  // A limiter can count addresses elsewhere than keys, so that only one of the two fails.
  const limiting = { key: createHostPart('limiter.take'), address: createHostPart('limiter.take') };
  /** The addresses over their limit for which a key is being looked up. */
  const lookingUp = new Set<string>();

  /** Counts a request against its key. Without a valid key, counts it against its client's address. */
  function admit(request: ReadRequest): MaybePromise<Verdict<Principal>> {
    const { apiKey, keyFault, fault } = request;
    if (fault !== undefined || apiKey === undefined) return refuse(request, errorOutcome(fault ?? keyFault));
    return refuseIfItFails(() => {
      if (authenticateKnown === undefined) return lookUp(request, apiKey);
      const known = recalling.call(() => authenticateKnown(apiKey));
      return after(known, (principal) => takeFromKey(principal) ?? lookUpUnknown(request, apiKey));
    });
  }

  function lookUp(request: ReadRequest, apiKey: string): MaybePromise<Verdict<Principal>> {
    const found = authenticating.call(() => authenticate(apiKey));
    return after(found, (principal) => takeFromKey(principal) ?? refuse(request, errorOutcome('invalid_api_key')));
  }

  /** Looks up a key that may be guessed: one at a time for each address that is over its limit. */
  function lookUpUnknown(request: ReadRequest, apiKey: string): MaybePromise<Verdict<Principal>> {
    const bucket = addressKey(resolveAddress(request.clientAddress));
    // Takes no tokens.
    const state = limiting.address.call(() => limiter.take(bucket, addressPlan, 0));
    return after(state, (decision) => {
      checkDecision(decision);
      if (decision.inForce.remaining > 0) return lookUpAtCost(request, apiKey);
      if (lookingUp.has(bucket)) return refuseMeanwhile(decision);
      lookingUp.add(bucket);
      return after(lookUpAtCost(request, apiKey), (verdict) => {
        lookingUp.delete(bucket);
        return verdict;
      });
    });
  }

  /** Looks up a key. If this fails, the client's address pays as if the key had not been found. */
  function lookUpAtCost(request: ReadRequest, apiKey: string): MaybePromise<Verdict<Principal>> {
    return attempt(
      () => lookUp(request, apiKey),
      (error) => refuse(request, outcomeOfFailure(error)),
    );
  }

  /**
   * Refuses a request while another key of its address is looked up. `X-RateLimit-Reset` is the end
   * of this wait, as during a ban, because a valid key passes then. `RateLimit` has the true window.
   */
  function refuseMeanwhile(decision: Decision): Refused {
    const limitFields = limitFieldsOf(decision, draftFields, decision.nowMs + LOOK_UP_MS);
    const refused = errorOutcome('rate_limit_exceeded', 'Retry-After', retryAfter(LOOK_UP_MS));
    return { chargedTo: 'address', plan: addressPlan, limitFields, principal: undefined, refusal: refused };
  }

  function refuse(request: ReadRequest, outcome: Outcome): MaybePromise<Refused> {
    return after(takeFromAddress(request), (verdict) => ({ ...verdict, refusal: verdict.refusal ?? outcome }));
  }

  function takeFromAddress(request: ReadRequest): MaybePromise<Verdict<undefined>> {
    return refuseIfItFails(() => take(addressKey(resolveAddress(request.clientAddress)), addressPlan, undefined));
  }

  /** Returns `undefined` if there is no principal. */
  function takeFromKey(principal: Principal | undefined): MaybePromise<Verdict<Principal>> | undefined {
    if (principal === undefined || principal === null) return undefined;
    if (!isPrincipal(principal)) {
      throw new HostFailure('authenticate failed', new TypeError('expected a principal with an id and a plan'));
    }
    const { id, plan } = principal;
    return refuseIfItFails(() => take(id, plan, principal), plan, principal);
  }

  function take<P extends Principal | undefined>(bucket: string, plan: Plan, principal: P): MaybePromise<Verdict<P>> {
    const chargedTo = principal === undefined ? 'address' : 'key';
    const decision = limiting[chargedTo].call(() => limiter.take(bucket, plan));
    return after(decision, (decided) => {
      checkDecision(decided);
      const limitFields = limitFieldsOf(decided, draftFields);
      return { chargedTo, plan, limitFields, principal, refusal: refusalOf(decided) };
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
    return request.fault === undefined ? takeFromAddress(request) : refuse(request, errorOutcome(request.fault));
  }

  /** Returns the verdict on a request that arrives after the service was closed. */
  function turnAway(): Verdict<Principal> {
    return unchargedRefusal(unavailable(), addressPlan);
  }

  return { admit, charge, turnAway };
}

function unchargedRefusal(outcome: Outcome, plan: Plan, principal?: Principal): Refused {
  const limitFields = unavailableFields(plan, outcome.waitMs ?? FIRST_WAIT_MS);
  return { chargedTo: undefined, plan, limitFields, principal, refusal: outcome };
}

function checkDecision(decision: Decision | undefined): void {
  if (decision?.inForce === undefined) throw new TypeError('limiter.take: expected a decision');
}

function refusalOf({ allowed, result, retryAfterMs }: Decision): Outcome | undefined {
  if (allowed) return undefined;
  const code = result === 'banned' ? 'api_key_banned' : 'rate_limit_exceeded';
  return errorOutcome(code, 'Retry-After', retryAfter(retryAfterMs));
}

export const ADMISSION_REQUIRED = ['limiter', 'authenticate'] as const;
export const ADMISSION_FIELDS = ['authenticateKnown', 'addressPlan', 'draftFields', 'onReply', 'onFailure'] as const;

/** Throws a TypeError or RangeError that names the invalid option. */
export function checkAdmissionOptions(options: AdmissionOptions): void {
  const { limiter, authenticate, addressPlan, draftFields = true } = options;
  checkMethods('limiter', limiter, ['take']);
  checkFunction('authenticate', authenticate);
  for (const name of ['authenticateKnown', 'onReply', 'onFailure'] as const) {
    if (options[name] !== undefined) checkFunction(name, options[name]);
  }
  checkOneOf('draftFields', draftFields, [true, false]);
  if (addressPlan === undefined) return;
  if (addressPlan?.partition !== 'address')
    throw new TypeError("addressPlan: expected a plan with partition 'address'");
  checkPlan(addressPlan);
}
