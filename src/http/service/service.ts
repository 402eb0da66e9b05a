import { checkBasePath, checkFields, checkMethods, DEFAULTS } from '../../check.js';
import { cancelOutcome } from '../../orders/cancellation.js';
import type { CancelOutcome, MaybePromise, OrderId, OrderStatus, OrderStore } from '../../orders/index.js';
import {
  ADMISSION_FIELDS,
  ADMISSION_REQUIRED,
  type AdmissionOptions,
  checkAdmissionOptions,
  type Principal,
  type Verdict,
} from '../admission.js';
import type { ClientAddress } from '../client-address.js';
import { createFrontDoor, type FrontDoor, type OpenPath } from '../front-door.js';
import { createHostPart } from '../host-part.js';
import { createListRepresenter } from '../list/lister.js';
import { after, attempt, isPromise } from '../maybe-promise.js';
import type { OperationName } from '../operations.js';
import { errorOutcome, isStream, type Outcome, outcomeOfFailure, type Reply } from '../reply.js';
import type { FaultCode, ReadRequest, RequestHead } from '../request.js';
import { type Asked, createRouter, pathOf } from '../route.js';
import { checkOrigins, withCors } from './cors.js';
import { checkPaths, createOpenPaths } from './open-paths.js';

export interface OrderServiceOptions extends AdmissionOptions {
  readonly store: OrderStore;
  /** The path segments with which all paths begin. Default: `/v1`. */
  readonly basePath?: string | undefined;
  /**
   * Further paths of this service, such as probes and pages, by their whole path: `/status`. They
   * need no key, and are charged to the client's address. Default: none.
   */
  readonly paths?: Readonly<Record<string, OpenPath>> | undefined;
  /**
   * The origins of web pages that may use the service, such as `https://shop.example`, or `*` for
   * all. Default: none.
   */
  readonly corsOrigins?: readonly string[] | undefined;
}

/**
 * The service itself, independent of any server or framework. No method throws or rejects, if its
 * parameters have these types.
 */
export interface OrderService {
  /** The path segments with which all paths begin, except those of the option `paths`. */
  readonly basePath: string;
  /** The paths of the option `paths`. */
  readonly paths: readonly string[];
  /**
   * Responds to a request. Returns a promise only if the store, the limiter or `authenticate`
   * returns one, or if the list cannot be serialised or compressed synchronously.
   */
  respond(request: RequestHead, clientAddress?: ClientAddress): Reply | Promise<Reply>;
  /**
   * Returns the reply to a request that could not be parsed, and counts the request against the
   * client's address. Close the connection after the reply.
   */
  refuse(code: FaultCode, clientAddress?: ClientAddress): Reply | Promise<Reply>;
  /**
   * Reports whether a request target is a path of this service, also one of its option `paths`, not
   * of the embedding program.
   */
  owns(target: string): boolean;
  /**
   * Makes the service respond with 503 to every further request. Resolves when all earlier requests
   * have their replies and the store is no longer read. A list that is being streamed is first read
   * to its end. The server still has to send the remaining bytes.
   */
  close(): Promise<void>;
}

const CANCEL_OUTCOMES: Readonly<Record<CancelOutcome, Outcome>> = {
  cancelled: { status: 204, fields: [], body: undefined },
  already_shipped: errorOutcome('order_already_shipped'),
  already_cancelled: errorOutcome('order_already_cancelled'),
  not_pending: errorOutcome('order_not_pending'),
  not_found: errorOutcome('order_not_found'),
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
  checkFields('options', options, SERVICE_FIELDS, SERVICE_REQUIRED);
  checkAdmissionOptions(options);
  const { store, basePath = DEFAULTS.basePath, paths = {}, corsOrigins = [] } = options;
  checkMethods('store', store, ['list', 'cancel']);
  checkBasePath(basePath);
  const router = createRouter(basePath);
  checkPaths(paths, router.owns);
  checkOrigins(corsOrigins);
  const door = createFrontDoor(options);
  const openPaths = createOpenPaths(paths);
  const listing = createHostPart('store.list');
  const listOrders = createListRepresenter(() => listing.call(() => store.list()));
  const cancelling = createHostPart('store.cancel');
  const getting = createHostPart('store.get');
  /** Replies that are not ready, and lists that are being streamed. */
  const pending = new Set<Promise<unknown>>();
  let isClosed = false;

  type Perform = (request: ReadRequest, keyId: string, orderId: OrderId | undefined) => MaybePromise<Outcome>;
  const operations: Readonly<Record<OperationName, Perform>> = { listOrders, cancelOrder };

  function cancelOrder({ ifMatch = '*' }: ReadRequest, _keyId: string, id: OrderId | undefined): MaybePromise<Outcome> {
    if (id === undefined) return errorOutcome('invalid_order_id');
    // An order has no representation, so no entity tag in `If-Match` can match (RFC 9110 §13.1.1).
    if (ifMatch.trim() !== '*') return refuseCancel(id);
    const outcome = cancelling.call(() => store.cancel(id));
    return after(outcome, outcomeOfCancel);
  }

  /**
   * Refuses to cancel an order because of `If-Match`. A precondition counts only if the response
   * would otherwise be a 2xx (RFC 9110 §13.2.1), so an order that could not be cancelled leads to
   * its usual error.
   */
  function refuseCancel(id: OrderId): MaybePromise<Outcome> {
    if (store.get === undefined) return errorOutcome('precondition_failed');
    const stored = getting.call<{ readonly status: OrderStatus } | undefined>(() => store.get?.(id));
    return after(stored, (order) => {
      const outcome = cancelOutcome(order?.status);
      return outcome === 'cancelled' ? errorOutcome('precondition_failed') : CANCEL_OUTCOMES[outcome];
    });
  }

  function serve(request: ReadRequest, verdict: Verdict<Principal>): MaybePromise<Reply> {
    const toReply = (outcome: Outcome, asked?: Asked) =>
      door.reply(request, verdict, outcome, { asked, isLast: isClosed });
    if (verdict.refusal !== undefined) return toReply(verdict.refusal);
    const asked = router.ask(request);
    const { id: keyId } = verdict.principal;
    const outcome =
      asked.refusal ?? attempt(() => operations[asked.operation](request, keyId, asked.orderId), outcomeOfFailure);
    return after(outcome, (settled) => toReply(settled, asked));
  }

  /** Remembers that a reply is not ready, or that its list is being streamed. */
  function track(reply: MaybePromise<Reply>): MaybePromise<Reply> {
    if (isPromise(reply)) {
      const ended = reply.then(({ body }) => (isStream(body) ? body.ended : undefined));
      pending.add(ended);
      ended.then(() => pending.delete(ended));
    }
    return reply;
  }

  function replyTo(request: ReadRequest, verdict: MaybePromise<Verdict<Principal>>): MaybePromise<Reply> {
    return track(after(verdict, (settled) => serve(request, settled)));
  }

  const serveOpen: FrontDoor['serve'] = (head, clientAddress, path) => track(door.serve(head, clientAddress, path));

  const respond: OrderService['respond'] = (head, clientAddress) => {
    const open = openPaths.size === 0 ? undefined : openPaths.get(pathOf(head.url ?? ''));
    if (open !== undefined && !(isClosed && open.isAlwaysServed !== true)) {
      return serveOpen(head, clientAddress, open);
    }
    const request = door.read(head, clientAddress);
    return replyTo(request, isClosed ? door.turnAway() : door.admit(request));
  };

  return {
    basePath,
    paths: [...openPaths.keys()],

    respond: corsOrigins.length === 0 ? respond : withCors(respond, serveOpen, corsOrigins),

    refuse(code, clientAddress) {
      const request = { ...door.read({ rawHeaders: [] }, clientAddress), fault: code };
      return replyTo(request, door.admit(request));
    },

    owns: (target) => openPaths.has(pathOf(target)) || router.owns(target),

    async close() {
      isClosed = true;
      await Promise.all(pending);
    },
  };
}

/** The options of a service that have no default, and the others. */
export const SERVICE_REQUIRED = ['store', ...ADMISSION_REQUIRED] as const;
export const SERVICE_FIELDS = [...ADMISSION_FIELDS, 'basePath', 'paths', 'corsOrigins'] as const;

/** Throws unless a service that was passed to a mount has these methods. */
export function checkService(service: OrderService, methods: readonly (keyof OrderService)[]): void {
  checkMethods('service', service, methods, 'the result of createOrderService,');
}

function outcomeOfCancel(outcome: CancelOutcome): Outcome {
  if (Object.hasOwn(CANCEL_OUTCOMES, outcome)) return CANCEL_OUTCOMES[outcome];
  throw new TypeError(
    `store.cancel: unknown outcome "${outcome}"; expected one of ${Object.keys(CANCEL_OUTCOMES).join(', ')}`,
  );
}
