import type { ListedOrders, Order, OrderBatch, StreamedText } from '../../orders/index.js';
import { printBatch, printOrders } from '../../orders/json.js';
import { hostItems, hostStream } from '../host-call.js';
import { createBatchSerializer, textOf } from './batch-serializer.js';
import { digestOf } from './entity-tag.js';
import { type Failure, type ReplayableBytes, replayableText } from './replayable-bytes.js';
import {
  createRepresentations,
  type ListRequest,
  PRECONDITION_FAILED,
  type Representation,
  type Representations,
} from './representations.js';

/**
 * The number of orders that are serialised without a pause. This takes less than half a
 * millisecond. A frozen list of at most this length is sent in one write together with the response
 * head.
 */
const BATCH = 512;

/**
 * A list that is not frozen is sent as a string if its JSON text has at most this length. The
 * string is sent in one write together with the response head. For a longer text, a Buffer is
 * cheaper.
 */
const LARGEST_TEXT = 65_536;

const JSON_TYPE: readonly string[] = ['Content-Type', 'application/json'];

/**
 * Creates the list serialiser of one service. A frozen list is serialised once, and the most recent
 * frozen list is cached. A list that is not frozen can still change. So it is serialised for each
 * request, without an entity tag and uncompressed. The serialiser returns a promise only if it
 * cannot serialise the list synchronously. The promise resolves when the first piece of the list
 * exists. A store that fails before then still leads to a 503.
 */
export function createListSerializer(): (
  listed: ListedOrders,
  request: ListRequest,
) => Representation | Promise<Representation> {
  const serializeBatches = createBatchSerializer();
  let remembered: { readonly listed: ListedOrders; readonly representations: Representations } | undefined;

  function remember(listed: ListedOrders, bytes: ReplayableBytes): Representations {
    const representations = createRepresentations(bytes);
    remembered = { listed, representations };
    // A list that failed is not kept, so that the next request tries again.
    bytes.ended.then((failure) => {
      if (failure !== undefined && remembered?.representations === representations) remembered = undefined;
    });
    return representations;
  }

  function serializeOnce(listed: ListedOrders): ReplayableBytes {
    if (!isOrders(listed)) return serializeBatches(listed);
    if (listed.length > BATCH) return serializeBatches(slicesOf(listed));
    const text = printOrders(listed);
    return replayableText(text, digestOf(text));
  }

  return (listed, request) => {
    if (remembered !== undefined && remembered.listed === listed) return remembered.representations(request);
    if (Object.isFrozen(listed)) return remember(listed, serializeOnce(listed))(request);
    const { ifMatch = '*', ifNoneMatch } = request.head;
    if (ifMatch.trim() !== '*') return PRECONDITION_FAILED;
    if (ifNoneMatch?.trim() === '*') return { status: 304, fields: [], body: undefined };
    if (Symbol.asyncIterator in listed) {
      return request.method === 'HEAD' ? { status: 200, fields: JSON_TYPE, body: undefined } : startStream(listed);
    }
    return ofText(
      isOrders(listed) ? printOrders(listed) : `[${[...hostItems(listed)].map(printBatch).filter(Boolean).join(',')}]`,
    );
  };
}

/** Reports whether the list is an array of orders. Otherwise it consists of batches of orders. */
function isOrders(listed: ListedOrders): listed is readonly Order[] {
  if (Symbol.asyncIterator in listed) return false;
  const [first] = hostItems<Order | OrderBatch>(listed);
  return first === undefined || (typeof first === 'object' && 'id' in first);
}

function* slicesOf(orders: readonly Order[]): Generator<readonly Order[]> {
  for (let start = 0; start < orders.length; start += BATCH) yield orders.slice(start, start + BATCH);
}

function ofText(text: string): Representation {
  const body = text.length > LARGEST_TEXT ? Buffer.from(text, 'latin1') : text;
  return { status: 200, fields: [...JSON_TYPE, 'Content-Length', `${text.length}`], body };
}

async function startStream(batches: AsyncIterable<OrderBatch | StreamedText>): Promise<Representation> {
  let onEnd: (failure?: Failure) => void = () => {};
  const ended = new Promise<Failure | undefined>((resolve) => {
    onEnd = resolve;
  });
  const pieces = serializeStream(batches, onEnd);
  return { status: 200, fields: JSON_TYPE, body: resume(await pieces.next(), pieces), ended };
}

async function* serializeStream(
  batches: AsyncIterable<OrderBatch | StreamedText>,
  onEnd: (failure?: Failure) => void,
): AsyncGenerator<Uint8Array, undefined> {
  try {
    let mark = '[';
    for await (const batch of hostStream(batches)) {
      const text = await textOf(batch);
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

/**
 * Returns an iterator over `first` and `rest`. Its `return` ends the work of the store even if
 * nobody has read from it. A generator could not do that, because one that never started runs no
 * cleanup.
 */
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
