import { checkMethods } from '../check.js';
import { cancelOutcome } from '../orders/cancellation.js';
import {
  type CancelOutcome,
  type ListedOrders,
  type OrderId,
  type OrderStatus,
  type OrderStore,
  parseOrderId,
} from '../orders/index.js';
import { ADDRESS_PLAN, type AdmissionOptions, checkAdmissionOptions, createAdmission } from './admission.js';
import type { ErrorCode } from './errors.js';
import { type ClientAddress, createExchange, type Exchange } from './exchange.js';
import { afterHost, hostCall, isPromise } from './host-call.js';
import { createInFlight } from './in-flight.js';
import { createLister } from './list/lister.js';
import type { Representation } from './list/representations.js';
import { attempt, finish, isStream, limitFieldsOf, type Outcome, type Reply, refusal, unavailable } from './reply.js';
import { type RequestHead, readHead, UNREADABLE, withRawHeaders } from './request-head.js';
import { checkBasePath, createRouter, NOT_OURS } from './route.js';

export interface OrderServiceOptions extends AdmissionOptions {
  readonly store: OrderStore;
  /** The path segments with which all paths begin. Default: `/v1`. */
  readonly basePath?: string | undefined;
}

/**
 * The service itself, independent of any server or framework. Its methods never throw and never
 * reject.
 */
export interface OrderService {
  /** The path segments with which all paths begin. */
  readonly basePath: string;
  /**
   * Responds to a request. Returns a promise only if the store, the limiter or `authenticate`
   * returns one, or if the list cannot be serialised or compressed synchronously.
   */
  respond(request: RequestHead, clientAddress?: ClientAddress): Reply | Promise<Reply>;
  /**
   * Returns the reply to a request that could not be parsed, and counts the request against the
   * client's address. Close the connection after the reply.
   */
  refuse(code: RefusalCode, clientAddress?: ClientAddress): Reply | Promise<Reply>;
  /**
   * Reports whether a request target is a path of this service. Any other target belongs to the
   * embedding program.
   */
  owns(target: string): boolean;
  /**
   * Makes the service respond with 503 to every further request. Resolves when all earlier requests
   * have their replies and the store is no longer read. A list that is being streamed is first read
   * to its end. The server still has to send the remaining bytes.
   */
  close(): Promise<void>;
}

export type RefusalCode = 'bad_request' | 'request_timeout' | 'headers_too_large' | 'method_not_implemented';

/**
 * The standard methods (RFC 9110 §9.3 and RFC 5789). A path that does not support one of them
 * responds with 405. Any other method gets 501.
 */
const METHODS = 'GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' ');

const CANCEL_ERRORS: Readonly<Record<Exclude<CancelOutcome, 'cancelled'>, ErrorCode>> = {
  already_shipped: 'order_already_shipped',
  already_cancelled: 'order_already_cancelled',
  not_pending: 'order_not_pending',
  not_found: 'order_not_found',
};

/**
 * Creates the service from a store, a limiter and an `authenticate` function. Throws a TypeError or
 * RangeError that names an invalid option.
 *
 * @example
 * ```ts
 * import * as shop from 'store-orders';
 *
 * const ann = { id: 'ann', plan: shop.PLANS.free };
 * const service = shop.createOrderService({
 *   store: shop.createMemoryOrderStore([{ id: 1 }]),
 *   limiter: shop.createMemoryLimiter(),
 *   authenticate: (apiKey) => (apiKey === 'sesame' ? ann : undefined),
 * });
 * ```
 */
export function createOrderService(options: OrderServiceOptions): OrderService {
  checkAdmissionOptions(options, ['store', 'basePath']);
  const { store, basePath = '/v1', addressPlan = ADDRESS_PLAN } = options;
  checkMethods('store', store, ['list', 'cancel']);
  checkBasePath(basePath);
  const routeOf = createRouter(basePath);
  const representationOf = createLister();
  const inFlight = createInFlight();
  const { identify, chargeAddress } = createAdmission(options, dispatch);

  function dispatch(exchange: Exchange): Outcome | Promise<Outcome> {
    const { route, method } = exchange;
    switch (route.resource) {
      case 'orders':
        return method === 'GET' || method === 'HEAD' ? list(exchange) : refuseMethod(exchange, 'GET, HEAD');
      case 'order':
        return method === 'DELETE' ? cancel(exchange, route.idText) : refuseMethod(exchange, 'DELETE');
      case 'too_long':
        return refusal(exchange, 'uri_too_long');
      case 'malformed':
        return refusal(exchange, 'bad_request');
      case 'not_ours':
        return refusal(exchange, 'route_not_found');
    }
  }

  function list(exchange: Exchange): Outcome | Promise<Outcome> {
    exchange.operation = 'listOrders';
    const orders = hostCall('store.list', () => store.list());
    return isPromise(orders)
      ? afterHost('store.list', orders, (listed) => represent(exchange, listed))
      : represent(exchange, orders);
  }

  function represent(exchange: Exchange, orders: ListedOrders): Outcome | Promise<Outcome> {
    const answer = representationOf(orders, exchange);
    return isPromise(answer) ? answer.then((begun) => listReply(exchange, begun)) : listReply(exchange, answer);
  }

  function listReply(exchange: Exchange, { status, fields, body }: Representation): Outcome {
    if (status === 412) return refusal(exchange, 'precondition_failed');
    if (isStream(body)) inFlight.hold(body.ended);
    return { status, headers: [...fields, ...limitFieldsOf(exchange)], body };
  }

  function cancel(exchange: Exchange, idText: string): Outcome | Promise<Outcome> {
    exchange.operation = 'cancelOrder';
    const id = parseOrderId(idText);
    if (id === undefined) return refusal(exchange, 'invalid_order_id');
    exchange.orderId = id;
    // An order has no representation, so no entity tag in `If-Match` can match (RFC 9110 §13.1.1).
    const { ifMatch } = exchange.head;
    if (ifMatch !== undefined && ifMatch.trim() !== '*') return refuseCancel(exchange, id);
    const outcome = hostCall('store.cancel', () => store.cancel(id));
    return isPromise(outcome)
      ? afterHost('store.cancel', outcome, (settled) => cancelReply(exchange, settled))
      : cancelReply(exchange, outcome);
  }

  /**
   * Refuses to cancel an order because of `If-Match`. A precondition counts only if the response
   * would otherwise be a 2xx (RFC 9110 §13.2.1), so an order that could not be cancelled leads to
   * its usual error.
   */
  function refuseCancel(exchange: Exchange, id: OrderId): Outcome | Promise<Outcome> {
    if (store.get === undefined) return refusal(exchange, 'precondition_failed');
    const found = hostCall('store.get', () => store.get?.(id));
    const refuse = (order: { readonly status: OrderStatus } | undefined) => {
      const outcome = cancelOutcome(order?.status);
      return refusal(exchange, outcome === 'cancelled' ? 'precondition_failed' : CANCEL_ERRORS[outcome]);
    };
    return isPromise(found) ? afterHost('store.get', found, refuse) : refuse(found);
  }

  function cancelReply(exchange: Exchange, outcome: CancelOutcome): Outcome {
    if (outcome === 'cancelled') return { status: 204, headers: [...limitFieldsOf(exchange)], body: undefined };
    if (!Object.hasOwn(CANCEL_ERRORS, outcome)) throw new TypeError('store.cancel: returned an unknown outcome');
    return refusal(exchange, CANCEL_ERRORS[outcome]);
  }

  function run(exchange: Exchange, step: (exchange: Exchange) => Outcome | Promise<Outcome>): Reply | Promise<Reply> {
    const reply = attempt(exchange, step);
    if (!isPromise(reply)) return finish(exchange, reply, inFlight.isClosed);
    const finished = reply.then((settled) => finish(exchange, settled, inFlight.isClosed));
    inFlight.hold(finished);
    return finished;
  }

  return {
    basePath,

    respond(received, clientAddress) {
      const request = withRawHeaders(received);
      const { method, url = '', rawHeaders } = request;
      const head = readHead(request);
      const exchange = createExchange(routeOf(url), method, url, rawHeaders, head, clientAddress, addressPlan);
      return run(exchange, inFlight.isClosed ? unavailable : identify);
    },

    refuse: (code, clientAddress) =>
      run(createExchange(NOT_OURS, undefined, undefined, [], UNREADABLE, clientAddress, addressPlan), (exchange) =>
        chargeAddress(exchange, code),
      ),

    owns: (target) => routeOf(target).resource !== 'not_ours',
    close: inFlight.close,
  };
}

/** Returns 405 for a standard method, 501 for any other (RFC 9110 §9.1). */
function refuseMethod(exchange: Exchange, allowed: string): Outcome {
  return METHODS.includes(exchange.method ?? '')
    ? refusal(exchange, 'method_not_allowed', 'Allow', allowed)
    : refusal(exchange, 'method_not_implemented');
}
