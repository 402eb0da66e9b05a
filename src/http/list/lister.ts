import type { ListedOrders, MaybePromise } from '../../orders/index.js';
import { isPages } from '../../orders/store.js';
import { after, createHostPart, isPromise } from '../host-call.js';
import { type Outcome, refusal } from '../reply.js';
import { type SerializedList, serializeArray, serializePages } from './body.js';
import {
  createRepresentationSelector,
  JSON_TYPE,
  type ListRequest,
  type SelectRepresentation,
} from './representations.js';
import { startStream } from './stream.js';

/** A version of the list, and the selector of its representations once it is serialised. */
interface SharedList {
  readonly version: unknown;
  readonly select: MaybePromise<SelectRepresentation>;
}

/**
 * Creates a function that represents the lists of one service. It remembers the most recent
 * version, so that its readers share one serialisation.
 *
 * Versions are serialised one at a time. While pages are read, one further reading waits, on behalf
 * of all newer versions. So however often such a list changes, there are at most two versions in
 * memory, and those that are still being sent. An array that waits is serialised by itself, because
 * its request may be the first to see a change.
 */
export function createListRepresenter(): (listed: ListedOrders, request: ListRequest) => MaybePromise<Outcome> {
  /** Reading pages can fail although `store.list` has not. */
  const reading = createHostPart('store.list');
  let remembered: SharedList | undefined;
  /** The pages to read next, and the reading that waits for the one in progress. */
  let newest: ListedOrders = [];
  let waiting: Promise<SelectRepresentation> | undefined;

  function selectorOf(listed: ListedOrders): MaybePromise<SelectRepresentation> {
    const { version } = listed;
    if (version === undefined) return createSelector(listed);
    if (remembered?.version === version) return remembered.select;
    if (!isPromise(remembered?.select)) return remember(listed);
    if (!isPages(listed)) {
      const retry = () => selectorOf(listed);
      return remembered.select.then(retry, retry);
    }
    // Pages show the moment when they are read, so the newest ones suit all requests that wait.
    newest = listed;
    waiting ??= remembered.select.then(readNewest, readNewest);
    return waiting;
  }

  function readNewest(): MaybePromise<SelectRepresentation> {
    waiting = undefined;
    return selectorOf(newest);
  }

  function remember(listed: ListedOrders): MaybePromise<SelectRepresentation> {
    const { version } = listed;
    const select = createSelector(listed);
    remembered = { version, select };
    if (isPromise(select)) {
      // Once the list is serialised, its readers need no promise. A list that failed is not kept,
      // so that the next request tries again.
      const settle = (settled?: SelectRepresentation) => {
        remembered = settled && { version, select: settled };
      };
      select.then(settle, () => settle());
    }
    return select;
  }

  return (listed, request) => {
    if (!isPages(listed)) return after(selectorOf(listed), (select) => select(request));
    if (typeof listed?.[Symbol.asyncIterator] !== 'function') {
      throw new TypeError('store.list: expected an array of orders, or pages');
    }
    const { version } = listed;
    const pages = { version, [Symbol.asyncIterator]: () => reading.stream(listed) };
    return version === undefined ? stream(pages, request) : after(selectorOf(pages), (select) => select(request));
  };
}

function createSelector(listed: ListedOrders): MaybePromise<SelectRepresentation> {
  return after(serialize(listed), (serialized) => createRepresentationSelector(serialized));
}

function serialize(listed: ListedOrders): MaybePromise<SerializedList> {
  if (isPages(listed)) return serializePages(listed);
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
