import { type CancelOutcome, type ListedOrders, type OrderStore, parseOrderId } from '../orders/index.js';
import {
  ADDRESS_PLAN,
  type AdmissionOptions,
  checkAdmissionOptions,
  checkMethods,
  createAdmission,
} from './admission.js';
import { createDrain } from './drain.js';
import type { ErrorCode } from './errors.js';
import { type ClientAddress, createExchange, type Exchange, isPromise, publish } from './exchange.js';
import { ABANDONED, type PrintFailure } from './list/replayable-bytes.js';
import type { ListAnswer } from './list/representations.js';
import { createListPrinter } from './list/serializer.js';
import { refuseUnknownOptions } from './option-names.js';
import { attempt, finish, limitFieldsOf, type Reply, refusal, unavailable } from './reply.js';
import { type RequestHead, readHead, UNREADABLE } from './request-head.js';
import { checkBasePath, createRouter, FOREIGN } from './route.js';

export interface OrderServiceOptions extends AdmissionOptions {
  readonly store: OrderStore;
  /** The version segment, where the paths begin. Default: `/v1`. */
  readonly basePath?: string | undefined;
}

/** The service itself, without a transport. It never throws and never rejects. */
export interface OrderService {
  /** The version segment, where the paths begin. */
  readonly basePath: string;
  /** Answers a request; at once, without a promise, when the parts answer at once. */
  respond(request: RequestHead, clientAddress?: ClientAddress): Reply | Promise<Reply>;
  /** The answer to what could not be read as a request, charged to the address. The connection is to be closed. */
  refuse(code: RefusalCode, clientAddress?: ClientAddress): Reply | Promise<Reply>;
  /** Whether a request target is a path of this service; any other belongs to the host. */
  owns(target: string): boolean;
  /**
   * From now on every request is answered 503. Resolves when the ones before are answered and the store is asked nothing
   * more: a list that is streamed to one reader is read to its end, one that all readers share is printed to its end. What
   * of that is still to be sent is the server's to wait for.
   */
  close(): Promise<void>;
}

export type RefusalCode = 'bad_request' | 'request_timeout' | 'headers_too_large';

const CANCEL_ERRORS: Readonly<Record<Exclude<CancelOutcome, 'cancelled'>, ErrorCode>> = {
  already_shipped: 'order_already_shipped',
  already_cancelled: 'order_already_cancelled',
  not_pending: 'order_not_pending',
  not_found: 'order_not_found',
};

const OPTION_NAMES: Readonly<Record<keyof OrderServiceOptions, true>> = {
  store: true,
  limiter: true,
  authenticate: true,
  isKnownKey: true,
  basePath: true,
  addressPlan: true,
  draftFields: true,
};

/** Makes the service. Throws a TypeError that names the option if one is wrong. */
export function createOrderService(options: OrderServiceOptions): OrderService {
  const { store, basePath = '/v1', addressPlan = ADDRESS_PLAN } = options;
  refuseUnknownOptions(options, OPTION_NAMES);
  checkAdmissionOptions(options);
  checkMethods('store', store, ['list', 'cancel']);
  checkBasePath(basePath);
  const routeOf = createRouter(basePath);
  const print = createListPrinter();
  const drain = createDrain();
  const { identify, chargeAddress } = createAdmission(options, dispatch);

  function dispatch(exchange: Exchange): Reply | Promise<Reply> {
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
    return isPromise(listed)
      ? Promise.resolve(listed).then((orders) => printed(exchange, orders))
      : printed(exchange, listed);
  }

  function printed(exchange: Exchange, orders: ListedOrders): Reply | Promise<Reply> {
    const answer = print(orders, exchange);
    return isPromise(answer) ? answer.then((begun) => listReply(exchange, begun)) : listReply(exchange, answer);
  }

  function listReply(exchange: Exchange, { status, fields, body, ended }: ListAnswer): Reply {
    if (ended !== undefined) drain.hold(ended.then((failure) => publishFailure(exchange, failure)));
    return { status, headers: [...fields, ...limitFieldsOf(exchange)], body };
  }

  function cancel(exchange: Exchange, idText: string): Reply | Promise<Reply> {
    exchange.operation = 'cancelOrder';
    const id = parseOrderId(idText);
    if (id === undefined) return refusal(exchange, 'invalid_order_id');
    exchange.orderId = id;
    exchange.isAsking = true;
    const outcome = store.cancel(id);
    return isPromise(outcome)
      ? Promise.resolve(outcome).then((settled) => cancelReply(exchange, settled))
      : cancelReply(exchange, outcome);
  }

  function cancelReply(exchange: Exchange, outcome: CancelOutcome): Reply {
    exchange.isAsking = false;
    if (outcome === 'cancelled') return { status: 204, headers: [...limitFieldsOf(exchange)], body: undefined };
    if (!Object.hasOwn(CANCEL_ERRORS, outcome)) throw new TypeError('store.cancel: answered no outcome');
    return refusal(exchange, CANCEL_ERRORS[outcome]);
  }

  function run(exchange: Exchange, step: (exchange: Exchange) => Reply | Promise<Reply>): Reply | Promise<Reply> {
    const reply = attempt(exchange, step);
    if (!isPromise(reply)) return finish(exchange, reply, drain.isClosed);
    const finished = reply.then((settled) => finish(exchange, settled, drain.isClosed));
    drain.hold(finished);
    return finished;
  }

  function publishFailure(exchange: Exchange, failure: PrintFailure | undefined): void {
    if (failure !== undefined && failure.error !== ABANDONED) publish({ ...exchange, error: failure.error }, 200);
  }

  return {
    basePath,

    respond: ({ method, url = '', rawHeaders, httpVersion }, clientAddress) =>
      run(
        createExchange(routeOf(url), method, rawHeaders, readHead(rawHeaders, httpVersion), clientAddress, addressPlan),
        drain.isClosed ? unavailable : identify,
      ),

    refuse: (code, clientAddress) =>
      run(createExchange(FOREIGN, undefined, [], UNREADABLE, clientAddress, addressPlan), (exchange) =>
        chargeAddress(exchange, code),
      ),

    owns: (target) => routeOf(target).resource !== 'foreign',
    close: drain.close,
  };
}
