import type { Decision, Plan, RateLimiter } from '../limits/index.js';
import { createPlan, perMinute } from '../limits/index.js';
import { addressKey } from './client-address.js';
import type { ErrorCode } from './errors.js';
import type { Exchange } from './exchange.js';
import { hostCall } from './host-call.js';
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
export type Authenticate = (apiKey: string) => Principal | undefined | Promise<Principal | undefined>;

export interface AdmissionOptions {
  readonly limiter: RateLimiter;
  readonly authenticate: Authenticate;
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

export const ADDRESS_PLAN = createPlan({ name: 'address', policies: [perMinute(600)], partition: 'address' });

/**
 * The way of a request to what `serve` answers: identify, admit, serve, each called once by the one
 * before.
 */
export interface Admission<Served> {
  identify(exchange: Exchange): Served | Reply | Promise<Served | Reply>;
  /** Refuses a request without a valid key: it is charged to its address, and to nobody else. */
  chargeAddress(exchange: Exchange, code: ErrorCode): Reply | Promise<Reply>;
}

export function createAdmission<Served>(
  options: AdmissionOptions,
  serve: (exchange: Exchange, principal: Principal) => Served | Promise<Served>,
): Admission<Served> {
  const { limiter, authenticate, addressPlan = ADDRESS_PLAN, draftFields = true } = options;

  function identify(exchange: Exchange): Served | Reply | Promise<Served | Reply> {
    const { apiKey, keyFault, fault } = exchange.head;
    if (fault !== undefined) return chargeAddress(exchange, fault);
    if (apiKey === undefined) return chargeAddress(exchange, keyFault);
    return hostCall(
      () => authenticate(apiKey),
      (principal) => admit(exchange, principal),
    );
  }

  function admit(exchange: Exchange, principal: Principal | undefined): Served | Reply | Promise<Served | Reply> {
    // `null` is not in the type, but a host's look-up may answer it: no such key all the same.
    if (principal === undefined || principal === null) return chargeAddress(exchange, 'invalid_api_key');
    const { id, plan } = principal;
    exchange.keyId = id;
    exchange.plan = plan;
    return hostCall(
      () => limiter.take(id, plan),
      (decision) => {
        // Before anything is done, so that a limiter that answers no decision fails here.
        exchange.limitFields = limitFields(decision, draftFields);
        return decision.allowed ? serve(exchange, principal) : overLimit(exchange, decision);
      },
    );
  }

  function chargeAddress(exchange: Exchange, code: ErrorCode): Reply | Promise<Reply> {
    exchange.plan = addressPlan;
    return hostCall(
      () => limiter.take(addressKey(addressOf(exchange)), addressPlan),
      (decision) => {
        exchange.limitFields = limitFields(decision, draftFields);
        return decision.allowed ? refusal(exchange, code) : overLimit(exchange, decision);
      },
    );
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

const ADMISSION_OPTIONS = ['limiter', 'authenticate', 'addressPlan', 'draftFields'];

/** Throws a TypeError that names the option; those in `others` are known too. */
export function checkAdmissionOptions(options: AdmissionOptions, others: readonly string[] = []): void {
  checkOptions(options, [...others, ...ADMISSION_OPTIONS]);
  const { limiter, authenticate, addressPlan } = options;
  checkMethods('limiter', limiter, ['take']);
  if (typeof authenticate !== 'function') throw new TypeError('authenticate: expected a function');
  if (addressPlan !== undefined && addressPlan?.partition !== 'address') {
    throw new TypeError("addressPlan: expected a plan of the partition 'address'");
  }
}
