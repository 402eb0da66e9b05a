import type { ListedOrders, MaybePromise, OrderArray, OrderPages } from '../../orders/index.js';
import { isPages } from '../../orders/store.js';
import { createHostPart } from '../host-part.js';
import { after, attempt, isPromise } from '../maybe-promise.js';
import { errorOutcome, isShared, type Outcome, unavailable } from '../reply.js';
import type { ReadRequest } from '../request.js';
import { isShort, serializeArray, serializePages } from './body.js';
import { createFairTurns, type Turn } from './fair-turns.js';
import { createReadings } from './readings.js';
import {
  CACHE_FIELDS,
  createRepresentationSelector,
  type ListRequest,
  type SelectRepresentation,
  STREAM_FIELDS,
} from './representations.js';
import { startStream } from './stream.js';

/** A list that is serialised. */
interface MadeList {
  readonly select: SelectRepresentation;
  /** The pieces of its body, if it is long. */
  readonly pieces: readonly Uint8Array[];
}

/** A version of the list. */
interface SharedList<List> {
  readonly version: unknown;
  readonly list: List;
}

/** A request for the list, which may have to wait, and the id of its principal. */
export interface ListAsker extends ListRequest, Pick<ReadRequest, 'isAborted'> {}

/** At most this many keys make an array without a version at the same time. */
const PLACES = 4;

/** A store that takes longer than this to list orders no longer delays other keys. */
const SLOW_MS = 1_000;

/** A request waits this long for its key's stream, or before it shares the most recent failure. */
const PATIENCE_MS = 5_000;

/** The outcome for a client that has hung up while it waited. Nobody receives it. */
const ABORTED = errorOutcome('request_timeout');

/**
 * Creates a function that represents the lists of one service. `ask` calls `store.list`, in the
 * context of the request that is represented. `key` is the id of its principal.
 *
 * A list with a version is shared by all requests that were told this version. The most recent one is
 * remembered, and one is serialised at a time. Requests that wait for that ask again when it ends, so
 * nobody gets a list that is older than the request.
 *
 * An array without a version belongs to the request that was given it. If it is long, each key makes
 * one at a time, and few keys at the same time. The store is asked when the turn of the key comes,
 * because its array takes memory too. The first list of a service may be long, so it takes a turn.
 */
export function createListRepresenter(
  ask: () => MaybePromise<ListedOrders>,
): (request: ListAsker, key: string) => MaybePromise<Outcome> {
  /** Reading pages can fail although `store.list` has not. */
  const paging = createHostPart('store.list');
  const turns = createFairTurns(PLACES);
  let remembered: SharedList<MadeList> | undefined;
  let reading: SharedList<Promise<MadeList>> | undefined;
  /** Wakes the requests that wait for the end of a reading. The first has waited longest. */
  const waiting: (() => void)[] = [];
  const readings = createReadings(() => remembered?.list.pieces ?? []);
  /** Whether the store has ever listed a long array without a version. */
  let hasLongArrays: boolean | undefined;
  let failure: { readonly error: unknown } | undefined;

  function represent(request: ListAsker, key: string): MaybePromise<Outcome> {
    if (hasLongArrays !== false) return representInTurn(request, key);
    // If a long array comes unexpectedly, the store is asked again in a turn.
    return after(ask(), (listed) =>
      noteLength(listed) ? representInTurn(request, key) : answer(listed, request, key),
    );
  }

  /** Reports whether a list is a long array without a version. */
  function noteLength(listed: ListedOrders): listed is OrderArray {
    const isLong = !isPages(listed) && listed.version === undefined && !isShort(listed);
    hasLongArrays = isLong || hasLongArrays === true;
    return isLong;
  }

  function representInTurn(request: ListAsker, key: string): MaybePromise<Outcome> {
    const startedMs = performance.now();
    const outcome = turns.run(key, request.isAborted, (turn) => {
      if (hasLongArrays !== false) return askInTurn(request, key, turn, performance.now() - startedMs);
      turn.end();
      return represent(request, key);
    });
    return after(outcome, (settled) => settled ?? ABORTED);
  }

  function askInTurn(request: ListAsker, key: string, turn: Turn, waitedMs: number): MaybePromise<Outcome> {
    if (failure !== undefined && waitedMs > PATIENCE_MS) throw failure.error;
    const asked = attempt(ask, (error) => {
      failure = { error };
      throw error;
    });
    const listed = isPromise(asked) ? yieldIfSlow(asked, turn) : asked;
    return after(listed, (orders) => {
      failure = undefined;
      if (noteLength(orders)) return representArray(orders, request, key);
      turn.end();
      return answer(orders, request, key);
    });
  }

  function answer(listed: ListedOrders, request: ListAsker, key: string): MaybePromise<Outcome> {
    if (isPages(listed)) return answerPages(listed, request, key);
    return listed.version === undefined ? representArray(listed, request, key) : share(listed, request, key);
  }

  function answerPages(listed: OrderPages, request: ListAsker, key: string): MaybePromise<Outcome> {
    if (typeof listed?.[Symbol.asyncIterator] !== 'function') {
      throw new TypeError('store.list: expected an array of orders, or pages');
    }
    const { version } = listed;
    const pages = { version, [Symbol.asyncIterator]: () => paging.stream(listed) };
    return version === undefined ? stream(pages, request, key) : share(pages, request, key);
  }

  /** Represents pages without a version. They have no entity tag and are not compressed. */
  function stream(pages: OrderPages, request: ListAsker, key: string): MaybePromise<Outcome> {
    const { method, ifMatch = '*', ifNoneMatch } = request;
    if (ifMatch.trim() !== '*') return errorOutcome('precondition_failed');
    if (ifNoneMatch?.trim() === '*') return { status: 304, fields: CACHE_FIELDS, body: undefined };
    if (method === 'HEAD') return { status: 200, fields: STREAM_FIELDS, body: undefined };
    return streamInTurn(pages, request, key);
  }

  /** Streams a list in a turn of the key, which lasts until the list is read. No other key waits. */
  async function streamInTurn(pages: OrderPages, request: ListAsker, key: string): Promise<Outcome> {
    let isLate = false;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS);
    }).then(() => {
      isLate = true;
    });
    const turn = await Promise.race([turns.take(key, () => isLate || request.isAborted()), late]);
    clearTimeout(timer);
    if (turn === undefined) return request.isAborted() ? ABORTED : unavailable();
    turn.yieldPlace();
    const starting = startStream(pages);
    starting.then(({ ended }) => ended).then(turn.end, turn.end);
    return { status: 200, fields: STREAM_FIELDS, body: await starting };
  }

  /** Represents a list with a version. */
  function share(listed: ListedOrders, request: ListAsker, key: string): MaybePromise<Outcome> {
    const { version } = listed;
    if (remembered !== undefined && remembered.version === version) return select(remembered.list, request, key);
    if (reading !== undefined && reading.version !== version) return waitFor(request, key);
    wakeNext();
    return after(reading?.list ?? read(listed), (list) => select(list, request, key));
  }

  /** Waits until a reading ends, or an earlier request that waits has a list. Then asks again. */
  async function waitFor(request: ListAsker, key: string): Promise<Outcome> {
    await new Promise<void>((wake) => waiting.push(wake));
    try {
      return request.isAborted() ? ABORTED : await represent(request, key);
    } finally {
      wakeNext();
    }
  }

  /** Wakes them one after the other: all at once, of many tenants, would ask as many times each. */
  function wakeNext(): void {
    waiting.shift()?.();
  }

  function read(listed: ListedOrders): MaybePromise<MadeList> {
    const { version } = listed;
    const list = make(listed);
    if (isPromise(list)) {
      reading = { version, list };
      // A list that failed is not remembered, so that the next request tries again.
      const settle = (made?: MadeList) => {
        reading = undefined;
        if (made !== undefined) remembered = { version, list: made };
        wakeNext();
      };
      list.then(settle, () => settle());
    } else remembered = { version, list };
    return list;
  }

  function representArray(orders: OrderArray, request: ListRequest, key: string): MaybePromise<Outcome> {
    // If there are many orders, the host may change its array between two slices.
    return after(make(isShort(orders) ? orders : [...orders]), (list) => select(list, request, key));
  }

  function make(listed: ListedOrders): MaybePromise<MadeList> {
    // Shops append orders, so most pieces of a list are equal to those of the one before.
    const recent = remembered?.list.pieces ?? readings.newest();
    const serialized = isPages(listed) ? serializePages(listed, recent) : serializeArray(listed, recent);
    return after(serialized, (list) => ({
      select: createRepresentationSelector(list),
      pieces: isShared(list.body) ? list.body.pieces : [],
    }));
  }

  function select(list: MadeList, request: ListRequest, key: string): MaybePromise<Outcome> {
    return after(list.select(request), (outcome) => {
      const { body } = outcome;
      return isShared(body) ? { ...outcome, body: readings.take(key, body) } : outcome;
    });
  }

  return represent;
}

/** Lets other keys begin if a store takes long to list its orders. */
function yieldIfSlow(listed: Promise<ListedOrders>, { yieldPlace }: Turn): Promise<ListedOrders> {
  const slow = setTimeout(yieldPlace, SLOW_MS);
  return listed.finally(() => clearTimeout(slow));
}
