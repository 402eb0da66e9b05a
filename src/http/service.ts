import { checkMethods } from '../check.js';
import { cancelOutcome } from '../orders/cancellation.js';
import type { CancelOutcome, MaybePromise, OrderId, OrderStatus, OrderStore } from '../orders/index.js';
import { type AdmissionOptions, checkAdmissionOptions, type Verdict } from './admission.js';
import type { ClientAddress } from './client-address.js';
import type { ErrorCode } from './errors.js';
import { createFrontDoor, type FrontDoor } from './front-door.js';
import { after, attempt, callHost, isPromise } from './host-call.js';
import { createListRepresenter } from './list/lister.js';
import type { Representation } from './list/representations.js';
import type { OperationName } from './operations.js';
import { failed, isStream, type Outcome, type Reply, refusal } from './reply.js';
import type { ReadRequest, RefusalCode, RequestHead } from './request.js';
import { checkBasePath, createRouter } from './route.js';

export type { RefusalCode } from './request.js';

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
  checkServiceOptions(options);
  return createServiceBehind(createFrontDoor(options), options);
}

function checkServiceOptions(options: OrderServiceOptions): void {
  checkAdmissionOptions(options, ['store', 'basePath']);
  checkMethods('store', options.store, ['list', 'cancel']);
  if (options.basePath !== undefined) checkBasePath(options.basePath);
}

/** Creates the service for requests that come through `door`. */
export function createServiceBehind(door: FrontDoor, options: OrderServiceOptions): OrderService {
  const { store, basePath = '/v1' } = options;
  const router = createRouter(basePath);
  const representationOf = createListRepresenter();
  const inFlight = createInFlight();

  type Perform = (request: ReadRequest, orderId: OrderId | undefined) => MaybePromise<Outcome>;
  const operations: Readonly<Record<OperationName, Perform>> = { listOrders, cancelOrder };

  function serve(request: ReadRequest, verdict: Verdict): MaybePromise<Reply> {
    if (verdict.refusal !== undefined) {
      return door.reply(request, verdict, verdict.refusal, { isLast: inFlight.isClosed });
    }
    const asked = router.ask(request);
    const outcome = asked.refusal ?? attempt(() => operations[asked.operation](request, asked.orderId), failed);
    return after(outcome, (settled) => door.reply(request, verdict, settled, { asked, isLast: inFlight.isClosed }));
  }

  function listOrders(request: ReadRequest): MaybePromise<Outcome> {
    return callHost(
      'store.list',
      () => store.list(),
      (listed) => after(representationOf(listed, request), listOutcome),
    );
  }

  function listOutcome(list: Representation): Outcome {
    if (list.status === 412) return refusal('precondition_failed');
    if (isStream(list.body)) inFlight.hold(list.body.ended);
    return list;
  }

  function cancelOrder({ ifMatch = '*' }: ReadRequest, id: OrderId | undefined): MaybePromise<Outcome> {
    if (id === undefined) return refusal('invalid_order_id');
    // An order has no representation, so no entity tag in `If-Match` can match (RFC 9110 §13.1.1).
    if (ifMatch.trim() !== '*') return refuseCancel(id);
    return callHost(
      'store.cancel',
      () => store.cancel(id),
      (outcome) => (outcome === 'cancelled' ? CANCELLED : refusal(cancelError(outcome))),
    );
  }

  /**
   * Refuses to cancel an order because of `If-Match`. A precondition counts only if the response
   * would otherwise be a 2xx (RFC 9110 §13.2.1), so an order that could not be cancelled leads to
   * its usual error.
   */
  function refuseCancel(id: OrderId): MaybePromise<Outcome> {
    if (store.get === undefined) return refusal('precondition_failed');
    return callHost(
      'store.get',
      () => store.get?.(id),
      (order: { readonly status: OrderStatus } | undefined) => {
        const outcome = cancelOutcome(order?.status);
        return refusal(outcome === 'cancelled' ? 'precondition_failed' : cancelError(outcome));
      },
    );
  }

  function replyTo(request: ReadRequest, verdict: MaybePromise<Verdict>): MaybePromise<Reply> {
    const reply = after(verdict, (settled) => serve(request, settled));
    if (isPromise(reply)) inFlight.hold(reply);
    return reply;
  }

  return {
    basePath,

    respond(head, clientAddress) {
      const request = door.read(head, clientAddress);
      return replyTo(request, inFlight.isClosed ? door.turnAway() : door.admit(request));
    },

    refuse(code, clientAddress) {
      const request = door.readUnparsed(code, clientAddress);
      return replyTo(request, door.admit(request));
    },

    owns: router.owns,
    close: inFlight.close,
  };
}

const CANCELLED: Outcome = { status: 204, fields: [], body: undefined };

function cancelError(outcome: Exclude<CancelOutcome, 'cancelled'>): ErrorCode {
  if (!Object.hasOwn(CANCEL_ERRORS, outcome)) throw new TypeError('store.cancel: returned an unknown outcome');
  return CANCEL_ERRORS[outcome];
}

/** Counts unfinished work, such as replies and streams, so that closing can wait for it. */
function createInFlight() {
  let isClosed = false;
  let pending = 0;
  let onIdle = () => {};
  const idle = new Promise<void>((resolve) => {
    onIdle = () => {
      if (isClosed && pending === 0) resolve();
    };
  });
  return {
    get isClosed() {
      return isClosed;
    },
    /** Makes `close` wait until `work` has resolved. `work` must never reject. */
    hold(work: Promise<unknown>): void {
      pending++;
      work.then(() => {
        pending--;
        onIdle();
      });
    },
    /** Resolves when all work that was passed to `hold` has ended. */
    close(): Promise<void> {
      isClosed = true;
      onIdle();
      return idle;
    },
  };
}
