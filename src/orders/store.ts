import { checkFields, checkOneOf } from '../check.js';
import type { CancelOutcome, OrderStatus, ShipOutcome } from './cancellation.js';
import type { Order, OrderId } from './order.js';
import type { OrderInput, OrderRecord } from './record.js';

/** A value or a promise of one. No promise is created for a synchronous value. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * An order store: the service's only access to the orders. Expected outcomes, such as an unknown
 * order, are return values. If a method throws or rejects, the store has failed and the client
 * receives a 503. Each method is called in the asynchronous context of its request, so it can read an
 * AsyncLocalStorage.
 */
export interface OrderStore {
  /**
   * Returns every order, ascending by id, whatever its status: an array, or pages of JSON text from
   * one consistent snapshot. A list with a `version` is sent to every request for which the store has
   * returned this version. A list without one is sent only to the request for which it was returned.
   * So a version of a list that depends on who asks must name that tenant or customer.
   *
   * A request that has to wait calls this again, so a call should be cheap if the list has a version.
   * It must settle: until then, the same API key may get no other list. Pages with a version must end
   * or fail: until then, nobody gets another version.
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
   * calls this only for a DELETE whose `If-Match` cannot match. The response is 404 for an unknown
   * order, 409 for one that is not pending, and otherwise 412. Without this method it is always 412.
   */
  get?(id: OrderId): MaybePromise<{ readonly status: OrderStatus } | undefined>;
}

export type ListedOrders = OrderArray | OrderPages;

/** A list as an array. A plain array of orders, without a `version`, is enough. */
export interface OrderArray extends ReadonlyArray<Order> {
  /**
   * Identifies the content. The store changes the version whenever the list changes, and never
   * changes an array that has one. The service serialises each version once, and shares its bytes
   * among all clients. Without a version, the array is copied and serialised for each request. If it
   * has more than 512 orders, each API key gets one such list at a time, and four keys at the same
   * time.
   */
  readonly version?: string | number | undefined;
}

/**
 * Pages of a list. Each page has the JSON texts of some orders, as `serializeOrder` returns them,
 * separated by commas and without brackets. It is a string or UTF-8 bytes. The pages are read at
 * most once, to the end or until the iterator's `return` is called. They may never be read, so a
 * store takes its snapshot only when the first page is requested.
 */
export interface OrderPages extends AsyncIterable<string | Uint8Array> {
  /**
   * Identifies the content. The store changes the version whenever the list changes. The service
   * reads each version once, keeps its bytes in memory and shares them among all clients. Without a
   * version, the list is streamed to each client as fast as the client reads, and is not kept. Each
   * API key gets one such list at a time.
   */
  readonly version?: string | number | undefined;
}

/**
 * Returns a copy of an array with a version that no other list has. The property is not enumerable,
 * so that the array still equals an array of the same orders.
 */
export function withVersion(orders: readonly Order[]): OrderArray {
  return Object.defineProperty([...orders], 'version', { value: crypto.randomUUID() });
}

export function isPages(listed: ListedOrders): listed is OrderPages {
  return !Array.isArray(listed);
}

/** Returns the first id that `exists` already or occurs twice. */
export function firstConflict(
  records: Iterable<{ readonly id: OrderId }>,
  exists: (id: OrderId) => boolean,
): OrderId | undefined {
  const seen = new Set<OrderId>();
  for (const { id } of records) {
    if (seen.has(id) || exists(id)) return id;
    seen.add(id);
  }
  return undefined;
}

/** A store that comes with this package, with further methods for its owner. */
export interface OwnedOrderStore extends OrderStore {
  /**
   * Adds all the orders or none. If an id exists already, nothing is stored and the outcome is
   * `exists`, unless `replace` is set.
   */
  put(orders: Iterable<OrderInput>, options?: PutOptions): MaybePromise<PutOutcome>;
  get(id: OrderId): MaybePromise<OrderRecord | undefined>;
  /** Marks a pending order as shipped. If `cancel` runs at the same time, only one succeeds. */
  ship(id: OrderId): MaybePromise<ShipOutcome>;
  /** Stops the store's own work. A database handle that was passed in stays open. */
  close(): MaybePromise<void>;
}

/** An {@link OwnedOrderStore} in a database that other processes may change too. */
export interface SharedOrderStore extends OwnedOrderStore {
  /**
   * Returns pages with a version. They show this store's own puts immediately, and puts of any other
   * writer at most a tenth of a second later.
   */
  list(): MaybePromise<OrderPages>;
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): Promise<OrderRecord | undefined>;
  ship(id: OrderId): Promise<ShipOutcome>;
  close(): Promise<void>;
}

export interface PutOptions {
  /** Whether to overwrite existing orders, including their status. Default: false. */
  readonly replace?: boolean | undefined;
}

export type PutOutcome =
  | { readonly outcome: 'stored'; readonly count: number }
  /** `id` is the first id that exists already or occurs twice. Nothing was stored. */
  | { readonly outcome: 'exists'; readonly id: OrderId };

/** Returns the option `replace`. Throws a TypeError that names an unknown or invalid option. */
export function isReplacing(options: PutOptions = {}): boolean {
  checkFields('options', options, ['replace']);
  const { replace = false } = options;
  checkOneOf('replace', replace, [true, false]);
  return replace;
}

/** An order of an import, with the line of the file on which it begins. */
export interface ImportedRecord {
  readonly record: OrderRecord;
  readonly line: number;
}

/** Unless the outcome is `stored` or `unknown`, nothing was stored. */
export type ImportOutcome =
  | Extract<PutOutcome, { outcome: 'stored' }>
  /** The order on this line has an id that exists already. */
  | { readonly outcome: 'exists'; readonly id: OrderId; readonly line: number }
  /** The orders on these two lines have the same id. */
  | { readonly outcome: 'twice'; readonly id: OrderId; readonly line: number; readonly earlier: number }
  /** The commit failed, and whether the orders are stored is unknown. */
  | { readonly outcome: 'unknown'; readonly cause: unknown };
