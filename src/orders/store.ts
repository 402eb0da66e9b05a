import type { CancelOutcome, ShipOutcome } from './cancellation.js';
import type { Order, OrderId } from './order.js';
import type { OrderInput, OrderRecord } from './record.js';

/** A value, at once or as a promise. What is synchronous stays synchronous: no promise is made for it. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * Where orders are kept: all that the service asks of a host. What is expected is a value; a throw or a rejection
 * means that the store failed, and the client is told 503.
 */
export interface OrderStore {
  /**
   * Every order, ascending by id, whatever its status: an array, or batches, in an array or streamed from one consistent
   * snapshot. Freeze what will never change and answer the same object for as long as nothing has changed: then it is
   * printed once, for all readers, and remembered; batches then are read once, to their end. A frozen batch is remembered
   * too: where it is in the next list again, it is not printed again. What is not frozen is printed for each request,
   * however long that takes, and its batches are read as quickly as the client reads, and no further once it hangs up.
   */
  list(): MaybePromise<ListedOrders>;
  /**
   * Cancels the order if its status allows it, in one atomic step: of any number of concurrent calls for one order
   * exactly one is answered `cancelled`. The change must be as durable as the store ever makes it before the answer.
   */
  cancel(id: OrderId): MaybePromise<CancelOutcome>;
}

export type ListedOrders = readonly Order[] | readonly OrderBatch[] | AsyncIterable<OrderBatch | StreamedText>;

/** Some orders of a list, or their JSON texts with commas between, as `printOrder` prints them: for a database that prints faster. */
export type OrderBatch = readonly Order[] | string | VersionedText;

/** Such a text that may be remembered from a former list, and need not be read then. */
export interface VersionedText {
  /** The same object for as long as the text is the same. */
  readonly version: object;
  /** Called, if at all, before the next batch is asked for. */
  text(): string;
}

/** The same in a list that is streamed, where the text may still have to be fetched. */
export interface StreamedText {
  readonly version: object;
  text(): string | Promise<string>;
}

/** The bundled stores, with what their owner needs besides; the service never calls these. */
export interface OwnedOrderStore extends OrderStore {
  /** Adds all the orders or none. An id that is stored already is an outcome, unless `replace` is set. */
  put(orders: Iterable<OrderInput>, options?: PutOptions): MaybePromise<PutOutcome>;
  get(id: OrderId): MaybePromise<OrderRecord | undefined>;
  /** Marks a pending order as shipped, atomically with respect to `cancel`. */
  ship(id: OrderId): MaybePromise<ShipOutcome>;
  /** Ends the store's own work. A database handle that was passed in stays open: who opened it closes it. */
  close(): MaybePromise<void>;
}

export interface PutOptions {
  /** Overwrite orders that exist, status included. Default: false. */
  readonly replace?: boolean | undefined;
}

export type PutOutcome =
  | { readonly outcome: 'stored'; readonly count: number }
  /** `id` is the first that exists already, or comes twice; nothing was stored. */
  | { readonly outcome: 'exists'; readonly id: OrderId };
