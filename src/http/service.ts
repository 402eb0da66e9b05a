import type { Plan, RateLimiter } from '../limits/index.js';
import { createPlan, type Decision, perMinute } from '../limits/index.js';
import { type CancelOutcome, type ListedOrders, type OrderStore, parseOrderId } from '../orders/index.js';
import { addressKey } from './client-address.js';
import type { ErrorCode } from './errors.js';
import { type ClientAddress, type Exchange, isPromise, passOn, publish, startedMs } from './exchange.js';
import { limitFields, retryAfter, unavailableFields } from './limit-fields.js';
import type { ListAnswer } from './list-answers.js';
import { createListPrinter } from './list-body.js';
import { errorReply, type Reply } from './reply.js';
import { type RequestHead, readHead, UNREADABLE } from './request-head.js';
import { checkBasePath, FOREIGN, matchRoute } from './route.js';
import type { PrintFailure } from './shared-print.js';

/** Who an API key belongs to: the key of its buckets, and the plan it has bought. */
export interface Principal {
  /** Never the API key itself: it is written into limiters and logs. */
  readonly id: string;
  readonly plan: Plan;
}

/** Answers whose key it is, `undefined` for an unknown or revoked one. A throw or a rejection is answered with 503. */
export type Authenticate = (apiKey: string) => Principal | undefined | Promise<Principal | undefined>;

export interface OrderServiceOptions {
  readonly store: OrderStore;
  readonly limiter: RateLimiter;
  readonly authenticate: Authenticate;
  /** The version segment, where the paths begin. Default: `/v1`. */
  readonly basePath?: string | undefined;
  /** The limit of an address that sends no valid key; of the partition `address`. Default: 600 a minute. */
  readonly addressPlan?: Plan | undefined;
  /** Whether replies also carry `RateLimit` and `RateLimit-Policy` of the IETF draft. Default: true. */
  readonly draftFields?: boolean | undefined;
}

/** The service itself, without a transport. It never throws and never rejects. */
export interface OrderService {
  /** Answers a request; at once, without a promise, when the parts answer at once. */
  respond(request: RequestHead, clientAddress?: ClientAddress): Reply | Promise<Reply>;
  /** The answer to what could not be read as a request, charged to the address. The connection is to be closed. */
  refuse(code: RefusalCode, clientAddress?: ClientAddress): Reply | Promise<Reply>;
  /** Whether a request target is a path of this service; any other belongs to the host. */
  owns(target: string): boolean;
  /** From now on every request is answered 503. Resolves when the ones before are answered, streamed lists to their end. */
  close(): Promise<void>;
}

export type RefusalCode = 'bad_request' | 'request_timeout' | 'headers_too_large';

const ADDRESS_PLAN = createPlan({ name: 'address', policies: [perMinute(600)], partition: 'address' });

/** How long a client is asked to wait after a 503. */
const UNAVAILABLE_MS = 1_000;

const CANCEL_ERRORS: Readonly<Record<Exclude<CancelOutcome, 'cancelled'>, ErrorCode>> = {
  already_shipped: 'order_already_shipped',
  already_cancelled: 'order_already_cancelled',
  not_pending: 'order_not_pending',
  not_found: 'order_not_found',
};

/** Makes the service. Throws a TypeError that names the option if one is wrong. */
export function createOrderService(options: OrderServiceOptions): OrderService {
  checkOptions(options);
  const { store, limiter, authenticate, basePath = '/v1', addressPlan = ADDRESS_PLAN, draftFields = true } = options;
  const print = createListPrinter();
  let isClosed = false;
  let pending = 0;
  let onIdle = () => {};
  const idle = new Promise<void>((resolve) => {
    onIdle = () => {
      if (isClosed) resolve();
    };
  });

  // A request passes through three steps, each called once by the one before: identify, admit, dispatch.

  function identify(exchange: Exchange): Reply | Promise<Reply> {
    if (isClosed) return unavailable(exchange);
    const { credential, hasBadHost } = exchange.head;
    if (hasBadHost) return chargeAddress(exchange, 'bad_request');
    if (credential.apiKey === undefined) return chargeAddress(exchange, credential.code);
    exchange.isAsking = true;
    return passOn(exchange, authenticate(credential.apiKey), admit);
  }

  function admit(exchange: Exchange, principal: Principal | undefined): Reply | Promise<Reply> {
    exchange.isAsking = false;
    // `null` is not in the type, but a host's look-up may answer it: no such key all the same.
    if (principal === undefined || principal === null) return chargeAddress(exchange, 'invalid_api_key');
    exchange.keyId = principal.id;
    exchange.plan = principal.plan;
    exchange.isAsking = true;
    return passOn(exchange, limiter.take(principal.id, principal.plan), dispatch);
  }

  function dispatch(exchange: Exchange, decision: Decision): Reply | Promise<Reply> {
    decided(exchange, decision);
    if (!decision.allowed) return overLimit(exchange, decision);
    const { route, method } = exchange;
    switch (route.resource) {
      case 'orders':
        if (method === 'GET' || method === 'HEAD') return list(exchange);
        return refusal(exchange, 'method_not_allowed', 'Allow', 'GET, HEAD');
      case 'order':
        if (method === 'DELETE') return cancel(exchange, route.idText);
        return refusal(exchange, 'method_not_allowed', 'Allow', 'DELETE');
      case 'too_long':
        return refusal(exchange, 'uri_too_long');
      case 'foreign':
        return refusal(exchange, 'route_not_found');
    }
  }

  function list(exchange: Exchange): Reply | Promise<Reply> {
    exchange.operation = 'listOrders';
    exchange.isAsking = true;
    return passOn(exchange, store.list(), printed);
  }

  function printed(exchange: Exchange, orders: ListedOrders): Reply | Promise<Reply> {
    return passOn(exchange, print(orders, exchange), listReply);
  }

  function listReply(exchange: Exchange, { status, fields, body, ended }: ListAnswer): Reply {
    if (ended !== undefined) hold(ended.then((failure) => publishFailure(exchange, failure)));
    return { status, headers: [...fields, ...fieldsOf(exchange)], body };
  }

  function cancel(exchange: Exchange, idText: string): Reply | Promise<Reply> {
    exchange.operation = 'cancelOrder';
    const id = parseOrderId(idText);
    if (id === undefined) return refusal(exchange, 'invalid_order_id');
    exchange.orderId = id;
    exchange.isAsking = true;
    return passOn(exchange, store.cancel(id), cancelReply);
  }

  function cancelReply(exchange: Exchange, outcome: CancelOutcome): Reply {
    exchange.isAsking = false;
    if (outcome === 'cancelled') return { status: 204, headers: fieldsOf(exchange), body: undefined };
    if (!Object.hasOwn(CANCEL_ERRORS, outcome)) throw new TypeError('store.cancel: answered no outcome');
    return refusal(exchange, CANCEL_ERRORS[outcome]);
  }

  /** A request without a valid key is charged to its address, and to nobody else. */
  function chargeAddress(exchange: Exchange, code: ErrorCode): Reply | Promise<Reply> {
    exchange.plan = addressPlan;
    exchange.isAsking = true;
    return passOn(exchange, limiter.take(addressKey(addressOf(exchange)), addressPlan), (_, decision) => {
      decided(exchange, decision);
      return decision.allowed ? refusal(exchange, code) : overLimit(exchange, decision);
    });
  }

  /** Printed at once, so that a limiter that answers no decision has failed before anything is done. */
  function decided(exchange: Exchange, decision: Decision): void {
    exchange.limitFields = limitFields(decision, draftFields);
    exchange.isAsking = false;
  }

  function overLimit(exchange: Exchange, { verdict, retryAfterMs }: Decision): Reply {
    const code = verdict === 'banned' ? 'api_key_banned' : 'rate_limit_exceeded';
    return refusal(exchange, code, 'Retry-After', retryAfter(retryAfterMs));
  }

  function unavailable(exchange: Exchange): Reply {
    return refusal(exchange, 'service_unavailable', 'Retry-After', retryAfter(UNAVAILABLE_MS));
  }

  function refusal(exchange: Exchange, code: ErrorCode, ...fields: string[]): Reply {
    exchange.code = code;
    return errorReply(code, [...fields, ...fieldsOf(exchange)]);
  }

  function fieldsOf({ limitFields, plan = addressPlan }: Exchange): string[] {
    return limitFields ?? unavailableFields(plan, Date.now() + UNAVAILABLE_MS);
  }

  function failed(exchange: Exchange, error: unknown): Reply {
    exchange.error = error;
    return exchange.isAsking ? unavailable(exchange) : refusal(exchange, 'internal_error');
  }

  function finish(exchange: Exchange, reply: Reply): Reply {
    publish(exchange, reply.status);
    const { hasContent, hasBadHost } = exchange.head;
    if (hasContent || hasBadHost || isClosed) reply.headers.push('Connection', 'close');
    if (exchange.method !== 'HEAD') return reply;
    if (typeof reply.body === 'object' && Symbol.asyncIterator in reply.body) {
      // Nobody will read it: the store is told so.
      reply.body[Symbol.asyncIterator]()
        .return?.()
        .catch(() => {});
    }
    return { ...reply, body: undefined };
  }

  function run(exchange: Exchange, step: (exchange: Exchange) => Reply | Promise<Reply>): Reply | Promise<Reply> {
    let reply: Reply | Promise<Reply>;
    try {
      reply = step(exchange);
    } catch (error) {
      reply = failed(exchange, error);
    }
    if (!isPromise(reply)) return finish(exchange, reply);
    const finished = reply.catch((error) => failed(exchange, error)).then((settled) => finish(exchange, settled));
    hold(finished);
    return finished;
  }

  function publishFailure(exchange: Exchange, failure: PrintFailure | undefined): void {
    if (failure !== undefined) publish({ ...exchange, error: failure.error }, 200);
  }

  /** Closing waits for this work, and for whoever waits for it already: so for the reply to be written. */
  function hold(work: Promise<unknown>): void {
    pending++;
    work.then(() => {
      pending--;
      if (pending === 0) onIdle();
    });
  }

  return {
    respond: ({ method, url = '', rawHeaders, httpVersion }, clientAddress) =>
      run(
        {
          route: matchRoute(url, basePath),
          method,
          rawHeaders,
          head: readHead(rawHeaders, httpVersion),
          clientAddress,
          startedMs: startedMs(),
          isAsking: false,
        },
        identify,
      ),

    refuse: (code, clientAddress) =>
      run(
        {
          route: FOREIGN,
          method: undefined,
          rawHeaders: [],
          head: UNREADABLE,
          clientAddress,
          startedMs: startedMs(),
          isAsking: false,
        },
        (exchange) => chargeAddress(exchange, code),
      ),

    owns: (target) => matchRoute(target, basePath).resource !== 'foreign',

    close() {
      isClosed = true;
      if (pending === 0) onIdle();
      return idle;
    },
  };
}

function addressOf({ clientAddress }: Exchange): string | undefined {
  return typeof clientAddress === 'function' ? clientAddress() : clientAddress;
}

function checkOptions({ store, limiter, authenticate, basePath, addressPlan }: OrderServiceOptions): void {
  checkMethods('store', store, ['list', 'cancel']);
  checkMethods('limiter', limiter, ['take']);
  if (typeof authenticate !== 'function') throw new TypeError('authenticate: expected a function');
  if (basePath !== undefined) checkBasePath(basePath);
  if (addressPlan !== undefined && addressPlan?.partition !== 'address') {
    throw new TypeError("addressPlan: expected a plan of the partition 'address'");
  }
}

function checkMethods(option: string, part: unknown, names: readonly string[]): void {
  for (const name of names) {
    if (typeof part !== 'object' || part === null || typeof Reflect.get(part, name) !== 'function') {
      throw new TypeError(`${option}: expected an object with the method ${name}`);
    }
  }
}
