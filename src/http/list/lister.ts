import type { ListedOrders, MaybePromise } from '../../orders/index.js';
import { isPages } from '../../orders/store.js';
import { after, hostStream, isPromise } from '../host-call.js';
import { type Outcome, refusal } from '../reply.js';
import { type SerializedList, serializeArray, serializePages } from './body.js';
import { createRepresentations, JSON_TYPE, type ListRequest, type Representations } from './representations.js';
import { startStream } from './stream.js';

/**
 * Creates the function with which one service represents its lists. The most recent frozen array,
 * or the most recent version of pages, is serialised once for all requests. The function returns a
 * promise only if it cannot serialise or compress the list synchronously.
 */
export function createListRepresenter(): (listed: ListedOrders, request: ListRequest) => MaybePromise<Outcome> {
  let remembered: { readonly key: unknown; list: MaybePromise<Representations> } | undefined;

  function remember(key: unknown, list: MaybePromise<Representations>): void {
    const entry = { key, list };
    remembered = entry;
    if (!isPromise(list)) return;
    const keep = (ready: Representations) => {
      entry.list = ready;
    };
    // A list that failed is not kept, so that the next request tries again.
    const forget = () => {
      if (remembered === entry) remembered = undefined;
    };
    list.then(keep, forget);
  }

  function representationsOf(listed: ListedOrders, key: unknown): MaybePromise<Representations> {
    if (key !== undefined && remembered?.key === key) return remembered.list;
    const list = after(serialize(listed), (serialized) => createRepresentations(serialized));
    if (key !== undefined) remember(key, list);
    return list;
  }

  return (listed, request) => {
    const key = keyOf(listed);
    if (isPages(listed) && key === undefined) return stream(hostStream(listed), request);
    return after(representationsOf(listed, key), (select) => select(request));
  };
}

/** Returns the value that stays the same as long as the list does, or `undefined` if there is none. */
function keyOf(listed: ListedOrders): unknown {
  if (!isPages(listed)) return Object.isFrozen(listed) ? listed : undefined;
  if (typeof listed[Symbol.asyncIterator] === 'function') return listed.version;
  throw new TypeError('store.list: expected an array of orders, or pages');
}

function serialize(listed: ListedOrders): MaybePromise<SerializedList> {
  if (isPages(listed)) return serializePages(hostStream(listed));
  // A copy is serialised, because the host may change its array between two slices.
  return serializeArray(Object.isFrozen(listed) ? listed : [...listed]);
}

/** Streams a list that has no version. It has no entity tag and is not compressed. */
function stream(
  pages: AsyncIterable<string | Uint8Array>,
  { method, ifMatch = '*', ifNoneMatch }: ListRequest,
): MaybePromise<Outcome> {
  if (ifMatch.trim() !== '*') return refusal('precondition_failed');
  if (ifNoneMatch?.trim() === '*') return { status: 304, fields: [], body: undefined };
  if (method === 'HEAD') return { status: 200, fields: JSON_TYPE, body: undefined };
  return startStream(pages).then((body) => ({ status: 200, fields: JSON_TYPE, body }));
}
