import type { ListedOrders, Order, OrderPages } from '../../orders/index.js';
import { isPages } from '../../orders/store.js';
import { hostStream, isPromise } from '../host-call.js';
import { type SerializedList, serializeArray, serializePages } from './body.js';
import {
  createRepresentations,
  type ListRequest,
  PRECONDITION_FAILED,
  type Representation,
  type Representations,
} from './representations.js';
import { startStream } from './stream.js';

const JSON_TYPE: readonly string[] = ['Content-Type', 'application/json'];

type Lazy<T> = T | Promise<T>;

/**
 * Creates the function with which one service represents its lists. The most recent frozen array,
 * or the most recent version of pages, is serialised once for all requests. The function returns a
 * promise only if it cannot serialise or compress the list synchronously.
 */
export function createListRepresenter(): (listed: ListedOrders, request: ListRequest) => Lazy<Representation> {
  let remembered: { readonly key: unknown; readonly list: Lazy<Representations> } | undefined;

  function remember(key: unknown, list: Lazy<Representations>): Lazy<Representations> {
    const entry = { key, list };
    remembered = entry;
    if (isPromise(list)) {
      list.then(
        (ready) => {
          if (remembered === entry) remembered = { key, list: ready };
        },
        () => {
          // A list that failed is not kept, so that the next request tries again.
          if (remembered === entry) remembered = undefined;
        },
      );
    }
    return list;
  }

  function serializedPages(pages: OrderPages): Lazy<Representations> {
    if (remembered !== undefined && remembered.key === pages.version) return remembered.list;
    return remember(pages.version, represented(serializePages(hostStream(pages))));
  }

  function serializedArray(orders: readonly Order[]): Lazy<Representations> {
    if (remembered !== undefined && remembered.key === orders) return remembered.list;
    if (Object.isFrozen(orders)) return remember(orders, represented(serializeArray(orders)));
    // A copy is serialised, because the embedding program may change its array between two slices.
    return represented(serializeArray([...orders]));
  }

  return (listed, request) => {
    if (isPages(listed) && typeof listed[Symbol.asyncIterator] !== 'function') {
      throw new TypeError('store.list: expected an array of orders, or pages');
    }
    if (isPages(listed) && listed.version === undefined) return streamed(listed, request);
    const list = isPages(listed) ? serializedPages(listed) : serializedArray(listed);
    return isPromise(list) ? list.then((select) => select(request)) : list(request);
  };
}

function represented(list: Lazy<SerializedList>): Lazy<Representations> {
  return isPromise(list) ? list.then(createRepresentations) : createRepresentations(list);
}

/** Streams a list that has no version. It has no entity tag and is not compressed. */
function streamed(pages: OrderPages, { method, ifMatch = '*', ifNoneMatch }: ListRequest): Lazy<Representation> {
  if (ifMatch.trim() !== '*') return PRECONDITION_FAILED;
  if (ifNoneMatch?.trim() === '*') return { status: 304, fields: [], body: undefined };
  if (method === 'HEAD') return { status: 200, fields: JSON_TYPE, body: undefined };
  return startStream(pages).then((body) => ({ status: 200, fields: JSON_TYPE, body }));
}
