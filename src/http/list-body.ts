import type { ListedOrders, Order } from '../orders/index.js';
import { printOrder, printOrders } from '../orders/json.js';

/** The printed list: whole, with its length in bytes, or in pieces as the store streams it. */
export interface ListBody {
  readonly body: string | Uint8Array | AsyncIterable<string>;
  readonly length?: number;
}

/** A text up to this length goes out in one write with the head; above, a Buffer shared by all readers is cheaper. */
const LARGEST_TEXT = 65_536;

/** Makes the printer of one service. It remembers what it printed last. */
export function createListPrinter() {
  let printedOrders: readonly Order[] | undefined;
  let printed: ListBody | undefined;

  function printArray(orders: readonly Order[]): ListBody {
    // Only a frozen array is remembered: one that a host goes on changing would be shown as it was.
    if (printed !== undefined && orders === printedOrders) return printed;
    const text = printOrders(orders);
    const fresh = { body: text.length > LARGEST_TEXT ? Buffer.from(text, 'latin1') : text, length: text.length };
    if (Object.isFrozen(orders)) {
      printedOrders = orders;
      printed = fresh;
    }
    return fresh;
  }

  /** A promise only for a stream: its first batch is awaited, so that a store that fails at once is a 503 and no torso. */
  return (listed: ListedOrders): ListBody | Promise<ListBody> =>
    Symbol.asyncIterator in listed ? startStream(listed[Symbol.asyncIterator]()) : printArray(listed);
}

type Batches = AsyncIterator<readonly Order[]>;

async function startStream(batches: Batches): Promise<ListBody> {
  return { body: printStream(await batches.next(), batches) };
}

/** Not a generator: the store's work must also end when nobody ever reads, and a generator's `finally` would not run then. */
function printStream(first: IteratorResult<readonly Order[]>, batches: Batches): AsyncIterableIterator<string> {
  let ahead: IteratorResult<readonly Order[]> | undefined = first;
  let mark = '[';
  let isEnded = false;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (isEnded) return { done: true, value: undefined };
      let batch = ahead ?? (await batches.next());
      ahead = undefined;
      while (!batch.done && batch.value.length === 0) batch = await batches.next();
      if (batch.done) {
        isEnded = true;
        return { done: false, value: mark === '[' ? '[]' : ']' };
      }
      const value = mark + batch.value.map(printOrder).join(',');
      mark = ',';
      return { done: false, value };
    },
    async return() {
      isEnded = true;
      await batches.return?.();
      return { done: true, value: undefined };
    },
  };
}
