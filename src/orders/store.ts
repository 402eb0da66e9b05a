import type { CancelOutcome, OrderStatus, ShipOutcome } from './cancellation.js';
import type { Order, OrderId } from './order.js';
import type { OrderInput, OrderRecord } from './record.js';

/**
 * A value or a promise of one. A synchronous value stays synchronous: no promise is created for it.
 */
export type MaybePromise<T> = T | Promise<T>;

/**
 * An order store: the service's only access to the orders. Expected outcomes, such as an unknown
 * order, are return values. If a method throws or rejects, the store has failed and the client
 * receives a 503.
 */
export interface OrderStore {
  /**
   * Returns every order, ascending by id, whatever its status: as one array, as batches in an
   * array, or as batches streamed from one consistent snapshot.
   *
   * Freeze what will never change, and return the same object until an order changes. A frozen list
   * is serialised once and cached for all readers; its batches are read once, to the end. A frozen
   * batch is cached too. It is not serialised again when the next list contains it.
   *
   * A list that is not frozen is serialised for every request, however long that takes. Its batches
   * are read as fast as the client receives them. Reading stops when the client disconnects.
   */
  list(): MaybePromise<ListedOrders>;
  /**
   * Cancels the order if its status allows it, in one atomic step. Of any number of concurrent
   * calls for one pending order, exactly one returns `cancelled`. The store must return this
   * outcome only when the change is as durable as the store can make it.
   */
  cancel(id: OrderId): MaybePromise<CancelOutcome>;
  /**
   * Returns the order with its status, or `undefined` if it does not exist. Optional. The service
   * calls this only for a DELETE whose `If-Match` cannot match, to report why the order could not
   * be cancelled in any case. Without this method, each such request gets a 412.
   */
  get?(id: OrderId): MaybePromise<{ readonly status: OrderStatus } | undefined>;
}

export type ListedOrders = readonly Order[] | readonly OrderBatch[] | AsyncIterable<OrderBatch | StreamedText>;

/**
 * Some orders of a list. A batch can also be the JSON texts of its orders, as `printOrder`
 * serialises them, separated by commas. This form is for databases that serialise faster than this
 * process.
 */
export type OrderBatch = readonly Order[] | string | VersionedText;

/** A batch as text. A caller that has cached the text of this `version` need not call `text`. */
export interface VersionedText {
  /**
   * Must be the same object in every list as long as the text of this batch does not change.
   * Callers cache the text under this object.
   */
  readonly version: object;
  /**
   * Returns the text. A caller that needs the text calls this before it requests the next batch.
   */
  text(): string;
}

/** A batch of a streamed list, whose text may still have to be fetched. */
export interface StreamedText {
  readonly version: object;
  text(): string | Promise<string>;
}

/**
 * A store that comes with this package. It has further methods, which its owner calls and the
 * service does not.
 */
export interface OwnedOrderStore extends OrderStore {
  /**
   * Adds all the orders or none. If an id exists already, nothing is stored and the outcome is
   * `exists`, unless `replace` is set.
   */
  put(orders: Iterable<OrderInput>, options?: PutOptions): MaybePromise<PutOutcome>;
  get(id: OrderId): MaybePromise<OrderRecord | undefined>;
  /**
   * Marks a pending order as shipped. If `cancel` runs at the same time, only one of them succeeds.
   */
  ship(id: OrderId): MaybePromise<ShipOutcome>;
  /**
   * Stops the store's own work. A database handle that was passed in stays open: the caller that
   * opened it closes it.
   */
  close(): MaybePromise<void>;
}

export interface PutOptions {
  /** Whether to overwrite existing orders, including their status. Default: false. */
  readonly replace?: boolean | undefined;
}

export type PutOutcome =
  | { readonly outcome: 'stored'; readonly count: number }
  /** `id` is the first id that exists already or occurs twice. Nothing was stored. */
  | { readonly outcome: 'exists'; readonly id: OrderId };
