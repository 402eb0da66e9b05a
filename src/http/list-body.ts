import type { ListedOrders, Order } from '../orders/index.js';
import { printOrder, printOrders } from '../orders/json.js';

/** The printed list: whole, with its length in bytes, or in pieces as the store streams it. */
export interface ListBody {
  readonly body: string | Uint8Array | AsyncIterable<string>;
  readonly length?: number;
  /** Of a stream: when it was read to its end, has failed, or was given up. Never rejects. */
  readonly ended?: Promise<void>;
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

  /** A promise only for a stream: its first piece is awaited, so that a store that fails at once is a 503 and no torso. */
  return (listed: ListedOrders): ListBody | Promise<ListBody> =>
    Symbol.asyncIterator in listed ? startStream(listed) : printArray(listed);
}

type Batches = AsyncIterable<readonly Order[]>;

async function startStream(batches: Batches): Promise<ListBody> {
  let onEnd = () => {};
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve;
  });
  const pieces = printBatches(batches, onEnd);
  return { body: resume(await pieces.next(), pieces), ended };
}

async function* printBatches(batches: Batches, onEnd: () => void): AsyncGenerator<string, undefined> {
  try {
    let mark = '[';
    for await (const batch of batches) {
      if (batch.length === 0) continue;
      yield mark + batch.map(printOrder).join(',');
      mark = ',';
    }
    yield mark === '[' ? '[]' : ']';
  } finally {
    onEnd();
  }
}

/** Not a generator: the store's work must also end when nobody ever reads, and one that never began has nothing to end. */
function resume(
  first: IteratorResult<string, undefined>,
  rest: AsyncGenerator<string, undefined>,
): AsyncIterableIterator<string> {
  let ahead: IteratorResult<string, undefined> | undefined = first;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      const result = ahead ?? (await rest.next());
      ahead = undefined;
      return result;
    },
    return() {
      ahead = undefined;
      return rest.return(undefined);
    },
  };
}
