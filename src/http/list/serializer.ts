import type { ListedOrders, Order, OrderBatch, StreamedText } from '../../orders/index.js';
import { printBatch, printOrders } from '../../orders/json.js';
import { createBatchPrinter } from './batch-serializer.js';
import { digestOf } from './entity-tag.js';
import { type PrintFailure, type SharedPrint, wholeText } from './replayable-bytes.js';
import { createListAnswers, type ListAnswer, type ListAnswers } from './representations.js';
import { fieldOf, type ListRequest } from './request-fields.js';

/** Orders that are printed in one go, in less than half a millisecond, into a text that goes out in one write with the head. */
const BATCH = 512;

/** A text up to this length goes out in one write with the head; above, a Buffer is cheaper. */
const LARGEST_TEXT = 65_536;

const JSON_TYPE: readonly string[] = ['Content-Type', 'application/json'];

/**
 * Makes the printer of one service. What is frozen it prints once, and remembers the last; what is not frozen a host may
 * still change, and is printed each time, without a tag and as it is. It answers a promise only for what cannot be
 * printed at once: then the first piece is awaited, so that a store that fails at once is a 503 and no torso.
 */
export function createListPrinter(): (listed: ListedOrders, request: ListRequest) => ListAnswer | Promise<ListAnswer> {
  const printFrozen = createBatchPrinter();
  let remembered: { readonly listed: ListedOrders; readonly answers: ListAnswers } | undefined;

  function remember(listed: ListedOrders, print: SharedPrint): ListAnswers {
    const answers = createListAnswers(print);
    remembered?.answers.abandon();
    remembered = { listed, answers };
    // One that failed is forgotten: the next request tries again.
    print.ended.then((failure) => {
      if (failure !== undefined && remembered?.answers === answers) remembered = undefined;
    });
    return answers;
  }

  function printOnce(listed: ListedOrders): SharedPrint {
    if (!isOrders(listed)) return printFrozen(listed);
    if (listed.length > BATCH) return printFrozen(slicesOf(listed));
    const text = printOrders(listed);
    return wholeText(text, digestOf(text));
  }

  return (listed, request) => {
    if (remembered !== undefined && remembered.listed === listed) return remembered.answers.answer(request);
    if (Object.isFrozen(listed)) return remember(listed, printOnce(listed)).answer(request);
    if (fieldOf(request, 'if-none-match')?.trim() === '*') return { status: 304, fields: [], body: undefined };
    if (Symbol.asyncIterator in listed) {
      return request.method === 'HEAD' ? { status: 200, fields: JSON_TYPE, body: undefined } : startStream(listed);
    }
    return ofText(
      isOrders(listed) ? printOrders(listed) : `[${[...listed].map(printBatch).filter(Boolean).join(',')}]`,
    );
  };
}

/** An array of orders, not of batches. */
function isOrders(listed: ListedOrders): listed is readonly Order[] {
  if (Symbol.asyncIterator in listed) return false;
  const [first] = listed;
  return first === undefined || (typeof first === 'object' && 'id' in first);
}

function* slicesOf(orders: readonly Order[]): Generator<readonly Order[]> {
  for (let start = 0; start < orders.length; start += BATCH) yield orders.slice(start, start + BATCH);
}

function ofText(text: string): ListAnswer {
  const body = text.length > LARGEST_TEXT ? Buffer.from(text, 'latin1') : text;
  return { status: 200, fields: [...JSON_TYPE, 'Content-Length', `${text.length}`], body };
}

async function startStream(batches: AsyncIterable<OrderBatch | StreamedText>): Promise<ListAnswer> {
  let onEnd: (failure?: PrintFailure) => void = () => {};
  const ended = new Promise<PrintFailure | undefined>((resolve) => {
    onEnd = resolve;
  });
  const pieces = printBatches(batches, onEnd);
  return { status: 200, fields: JSON_TYPE, body: resume(await pieces.next(), pieces), ended };
}

async function* printBatches(
  batches: AsyncIterable<OrderBatch | StreamedText>,
  onEnd: (failure?: PrintFailure) => void,
): AsyncGenerator<Uint8Array, undefined> {
  try {
    let mark = '[';
    for await (const batch of batches) {
      const text = await printBatch(batch);
      if (text === '') continue;
      yield Buffer.from(mark + text);
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
