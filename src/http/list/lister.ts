import type { ListedOrders, MaybePromise } from '../../orders/index.js';
import { isPages } from '../../orders/store.js';
import { after, hostStream, isPromise } from '../host-call.js';
import { type Outcome, refusal } from '../reply.js';
import { type SerializedList, serializeArray, serializePages } from './body.js';
import {
  createRepresentationSelector,
  JSON_TYPE,
  type ListRequest,
  type SelectRepresentation,
} from './representations.js';
import { startStream } from './stream.js';

/**
 * Creates a function that represents the lists of one service. It remembers the most recent
 * version, so that its readers share one serialisation.
 */
export function createListRepresenter(): (listed: ListedOrders, request: ListRequest) => MaybePromise<Outcome> {
  let remembered: { readonly version: unknown; readonly select: MaybePromise<SelectRepresentation> } | undefined;

  function selectorOf(listed: ListedOrders): MaybePromise<SelectRepresentation> {
    const { version } = listed;
    if (version !== undefined && remembered?.version === version) return remembered.select;
    const select = after(serialize(listed), (serialized) => createRepresentationSelector(serialized));
    if (version === undefined) return select;
    const shared = { version, select };
    remembered = shared;
    if (isPromise(select)) {
      // Once the list is serialised, its readers need no promise. A list that failed is not kept,
      // so that the next request tries again.
      const settle = (settled?: SelectRepresentation) => {
        if (remembered === shared) remembered = settled && { version, select: settled };
      };
      select.then(settle, () => settle());
    }
    return select;
  }

  return (listed, request) => {
    if (isPages(listed)) {
      if (typeof listed[Symbol.asyncIterator] !== 'function') {
        throw new TypeError('store.list: expected an array of orders, or pages');
      }
      if (listed.version === undefined) return stream(hostStream(listed), request);
    }
    return after(selectorOf(listed), (select) => select(request));
  };
}

function serialize(listed: ListedOrders): MaybePromise<SerializedList> {
  if (isPages(listed)) return serializePages(hostStream(listed));
  // Without a version, the host may change its array between two slices.
  return serializeArray(listed.version === undefined ? [...listed] : listed);
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
