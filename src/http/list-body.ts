import type { ListedOrders, Order, OrderBatch } from '../orders/index.js';
import { printBatch, printOrders } from '../orders/json.js';
import { type SharedPrint, sharePrint } from './shared-print.js';

/** The printed list: whole, with its length in bytes, or in pieces as the store streams it. */
export interface ListBody {
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly length?: number;
  /** Of a stream: when the store has no more to do with it, and its failure if it had one. Never rejects. */
  readonly ended?: Promise<ListFailure | undefined>;
}

export interface ListFailure {
  readonly error: unknown;
}

type Batches = AsyncIterable<OrderBatch>;

/** A text up to this length goes out in one write with the head; above, a Buffer shared by all readers is cheaper. */
const LARGEST_TEXT = 65_536;

/**
 * Makes the printer of one service. What is frozen it prints once, and remembers the last; what is not frozen a host may
 * still change, and is printed each time. It answers a promise only for batches: the first piece is awaited, so that a
 * store that fails at once is a 503 and no torso.
 */
export function createListPrinter(): (listed: ListedOrders) => ListBody | Promise<ListBody> {
  let remembered: { readonly listed: ListedOrders; readonly body: () => ListBody | Promise<ListBody> } | undefined;

  function remember(listed: ListedOrders, body: () => ListBody | Promise<ListBody>): void {
    if (Object.isFrozen(listed)) remembered = { listed, body };
  }

  function printShared(batches: Batches): Promise<ListBody> {
    const print = sharePrint(printBatches(batches));
    const body = () => startShared(print);
    remember(batches, body);
    // One that failed is forgotten: the next request tries again.
    print.ended.then((failure) => {
      if (failure !== undefined && remembered?.body === body) remembered = undefined;
    });
    return body();
  }

  return (listed) => {
    if (remembered?.listed === listed) return remembered.body();
    if (Symbol.asyncIterator in listed) return Object.isFrozen(listed) ? printShared(listed) : startStream(listed);
    const body = printArray(listed);
    remember(listed, () => body);
    return body;
  };
}

function printArray(orders: readonly Order[]): ListBody {
  const text = printOrders(orders);
  return { body: text.length > LARGEST_TEXT ? Buffer.from(text, 'latin1') : text, length: text.length };
}

async function startShared(print: SharedPrint): Promise<ListBody> {
  await print.started;
  const length = print.length();
  return { body: print.read(), ended: print.ended, ...(length !== undefined && { length }) };
}

async function startStream(batches: Batches): Promise<ListBody> {
  let onEnd: (failure?: ListFailure) => void = () => {};
  const ended = new Promise<ListFailure | undefined>((resolve) => {
    onEnd = resolve;
  });
  const pieces = printBatches(batches, onEnd);
  return { body: resume(await pieces.next(), pieces), ended };
}

async function* printBatches(
  batches: Batches,
  onEnd: (failure?: ListFailure) => void = () => {},
): AsyncGenerator<Uint8Array, undefined> {
  try {
    let mark = '[';
    for await (const batch of batches) {
      if (batch.length === 0) continue;
      yield Buffer.from(mark + printBatch(batch));
      mark = ',';
    }
    yield Buffer.from(mark === '[' ? '[]' : ']');
  } catch (error) {
    onEnd({ error });
    throw error;
  } finally {
    onEnd();
  }
}

/** Not a generator: the store's work must also end when nobody ever reads, and one that never began has nothing to end. */
function resume(
  first: IteratorResult<Uint8Array, undefined>,
  rest: AsyncGenerator<Uint8Array, undefined>,
): AsyncIterableIterator<Uint8Array> {
  let ahead: IteratorResult<Uint8Array, undefined> | undefined = first;
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
