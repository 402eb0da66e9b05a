import type { Plan, RateLimiter } from '../limits/index.js';
import { createPlan, type Decision, perMinute } from '../limits/index.js';
import { type CancelOutcome, type ListedOrders, type OrderStore, parseOrderId } from '../orders/index.js';
import { addressKey } from './client-address.js';
import type { ErrorCode } from './errors.js';
import { type Exchange, publish, startedMs } from './exchange.js';
import { limitFields, retryAfter, unavailableFields } from './limit-fields.js';
import { createListPrinter, type ListBody } from './list-body.js';
import { errorReply, type Reply } from './reply.js';
import { type RequestHead, readHead, UNREADABLE } from './request-head.js';
import { checkBasePath, FOREIGN, matchRoute } from './route.js';

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
  readonly basePath?: string;
  /** The limit of an address that sends no valid key; of the partition `address`. Default: 600 a minute. */
  readonly addressPlan?: Plan;
  /** Whether replies also carry `RateLimit` and `RateLimit-Policy` of the IETF draft. Default: true. */
  readonly draftFields?: boolean;
}

/** The service itself, without a transport. It never throws and never rejects. */
export interface OrderService {
  /** Answers a request; at once, without a promise, when the parts answer at once. */
  respond(request: RequestHead, clientAddress?: string): Reply | Promise<Reply>;
  /** The answer to what could not be read as a request, charged to the address. The connection is to be closed. */
  refuse(code: RefusalCode, clientAddress?: string): Reply | Promise<Reply>;
  /** Whether a request target is a path of this service; any other belongs to the host. */
  owns(target: string): boolean;
  /** From now on every request is answered 503. Resolves when the ones before are answered. */
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
  let onIdle: (() => void) | undefined;

  // A request passes through three steps, each called once by the one before: identify, admit, dispatch.

  function identify(exchange: Exchange): Reply | Promise<Reply> {
    if (isClosed) return unavailable(exchange);
    const { credential, hasBadHost } = exchange.head;
    if (hasBadHost) return chargeAddress(exchange, 'bad_request');
    if (credential.apiKey === undefined) return chargeAddress(exchange, credential.code);
    exchange.isAsking = true;
    const found = authenticate(credential.apiKey);
    return isPromise(found) ? found.then((principal) => admit(exchange, principal)) : admit(exchange, found);
  }

  function admit(exchange: Exchange, principal: Principal | undefined): Reply | Promise<Reply> {
    exchange.isAsking = false;
    if (principal === undefined) return chargeAddress(exchange, 'invalid_api_key');
    exchange.keyId = principal.id;
    exchange.plan = principal.plan;
    exchange.isAsking = true;
    const taken = limiter.take(principal.id, principal.plan);
    return isPromise(taken) ? taken.then((decision) => dispatch(exchange, decision)) : dispatch(exchange, taken);
  }

  function dispatch(exchange: Exchange, decision: Decision): Reply | Promise<Reply> {
    exchange.isAsking = false;
    exchange.decision = decision;
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
    const listed = store.list();
    return isPromise(listed) ? listed.then((orders) => printed(exchange, orders)) : printed(exchange, listed);
  }

  function printed(exchange: Exchange, orders: ListedOrders): Reply | Promise<Reply> {
    const body = print(orders);
    return isPromise(body) ? body.then((stream) => listReply(exchange, stream)) : listReply(exchange, body);
  }

  function listReply(exchange: Exchange, { body, length }: ListBody): Reply {
    const headers = ['Content-Type', 'application/json', ...fieldsOf(exchange)];
    if (length !== undefined) headers.push('Content-Length', `${length}`);
    return { status: 200, headers, body };
  }

  function cancel(exchange: Exchange, idText: string): Reply | Promise<Reply> {
    exchange.operation = 'cancelOrder';
    const id = parseOrderId(idText);
    if (id === undefined) return refusal(exchange, 'invalid_order_id');
    exchange.orderId = id;
    exchange.isAsking = true;
    const done = store.cancel(id);
    return isPromise(done) ? done.then((outcome) => cancelReply(exchange, outcome)) : cancelReply(exchange, done);
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
    const taken = limiter.take(addressKey(exchange.clientAddress), addressPlan);
    return isPromise(taken)
      ? taken.then((decision) => addressReply(exchange, decision, code))
      : addressReply(exchange, taken, code);
  }

  function addressReply(exchange: Exchange, decision: Decision, code: ErrorCode): Reply {
    exchange.isAsking = false;
    exchange.decision = decision;
    return decision.allowed ? refusal(exchange, code) : overLimit(exchange, decision);
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

  function fieldsOf({ decision, plan = addressPlan }: Exchange): string[] {
    return decision === undefined
      ? unavailableFields(plan, Date.now() + UNAVAILABLE_MS)
      : limitFields(decision, draftFields);
  }

  function failed(exchange: Exchange, error: unknown): Reply {
    exchange.error = error;
    return exchange.isAsking ? unavailable(exchange) : refusal(exchange, 'internal_error');
  }

  function finish(exchange: Exchange, reply: Reply): Reply {
    publish(exchange, reply.status);
    if (exchange.head.hasContent || isClosed) reply.headers.push('Connection', 'close');
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
    pending++;
    return Promise.resolve(reply)
      .catch((error) => failed(exchange, error))
      .then((settled) => {
        pending--;
        if (pending === 0) onIdle?.();
        return finish(exchange, settled);
      });
  }

  return {
    respond: ({ method, url = '', rawHeaders }, clientAddress) =>
      run(
        {
          route: matchRoute(url, basePath),
          method,
          head: readHead(rawHeaders),
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
      return new Promise((resolve) => {
        if (pending === 0) resolve();
        else onIdle = resolve;
      });
    },
  };
}

function checkOptions({ store, limiter, authenticate, basePath, addressPlan }: OrderServiceOptions): void {
  checkMethods('store', store, ['list', 'cancel']);
  checkMethods('limiter', limiter, ['take']);
  if (typeof authenticate !== 'function') throw new TypeError('authenticate: expected a function');
  if (basePath !== undefined) checkBasePath(basePath);
  if (addressPlan !== undefined && addressPlan.partition !== 'address') {
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

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
