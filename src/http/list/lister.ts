import type { ListedOrders, MaybePromise, OrderArray, OrderPages } from '../../orders/index.js';
import { isPages } from '../../orders/store.js';
import { createHostPart } from '../host-part.js';
import { after, isPromise } from '../maybe-promise.js';
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

/** A request for the list, which may have to wait. */
export interface ListAsker extends ListRequest, Pick<ReadRequest, 'isAborted'> {}

/** At most this many keys make an array without a version at the same time. */
const PLACES = 4;

/** A key waits for this many arrays outside of its turn. They were short so far, but may be long. */
const MOST_ASKED = 8;

/** A store that takes longer than this to list orders no longer delays other keys. */
const SLOW_MS = 1_000;

/** So many requests of a key wait for a long list without a version, because each holds a connection. */
const MOST_WAITING = 32;

/** A request waits this long for a turn of its key, or for readings of other versions. Then it fails. */
const PATIENCE_MS = 5_000;

/** The outcome for a client that has hung up while it waited. Nobody receives it. */
const ABORTED = errorOutcome('request_timeout');

/**
 * Creates a function that represents the lists of one service. `ask` calls `store.list`, in the
 * context of the request that is represented. `key` is the id of its principal.
 *
 * A list with a version is shared by all requests that were told this version. The most recent one is
 * remembered, and one is serialised at a time. Requests that wait for that ask again when it ends, each
 * in a turn of its key, so nobody gets a list that is older than the request.
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
  const turns = createFairTurns(PLACES, PATIENCE_MS);
  let remembered: SharedList<MadeList> | undefined;
  let reading: SharedList<Promise<MadeList>> | undefined;
  const readings = createReadings(() => remembered?.list.pieces ?? []);
  /** Whether the store has ever listed an array without a version, and a long one. */
  let hasArrays = false;
  let hasLongArrays: boolean | undefined;
  /** How many lists each key waits for outside of its turn. */
  const asked = new Map<string, number>();
  const isCrowd = (key: string) => hasArrays && (asked.get(key) ?? 0) >= MOST_ASKED;

  function represent(request: ListAsker, key: string): MaybePromise<Outcome> {
    if (hasLongArrays !== false || isCrowd(key)) return representInTurn(request, key, hasLongArrays !== true);
    // A list that has to wait is dropped, and the store is asked again in a turn.
    return after(askAtOnce(key), (listed) =>
      noteLength(listed) || otherReading(listed) !== undefined
        ? representInTurn(request, key)
        : answer(listed, request, key),
    );
  }

  function askAtOnce(key: string): MaybePromise<ListedOrders> {
    const listed = ask();
    if (!hasArrays || !isPromise(listed)) return listed;
    asked.set(key, (asked.get(key) ?? 0) + 1);
    return listed.finally(() => {
      const left = (asked.get(key) ?? 0) - 1;
      asked.set(key, left);
      if (left === 0) asked.delete(key);
    });
  }

  /** Reports whether a list is a long array without a version. */
  function noteLength(listed: ListedOrders): listed is OrderArray {
    const isArray = !isPages(listed) && listed.version === undefined;
    const isLong = isArray && !isShort(listed);
    hasArrays ||= isArray;
    hasLongArrays = isLong || hasLongArrays === true;
    return isLong;
  }

  /** Returns the reading that has to end before this list can be read. */
  function otherReading(listed: ListedOrders): Promise<MadeList> | undefined {
    // A store may return `null` instead of a list. Then `answerPages` throws.
    const version = listed?.version;
    const isOther = version !== undefined && version !== remembered?.version && version !== reading?.version;
    return isOther ? reading?.list : undefined;
  }

  function representInTurn(request: ListAsker, key: string, isEarly = false): MaybePromise<Outcome> {
    const untilMs = performance.now() + PATIENCE_MS;
    const work = (turn: Turn) => {
      if (!isEarly || hasLongArrays !== false || isCrowd(key)) return askInTurn(request, key, turn, untilMs);
      turn.end();
      return represent(request, key);
    };
    const outcome = turns.run(key, request.isAborted, work, hasLongArrays === true ? MOST_WAITING : undefined);
    return after(outcome, (settled) => settled ?? giveUp(request));
  }

  /** Asks the store. The turn lasts until the list can be read, or until a long array is made. */
  function askInTurn(request: ListAsker, key: string, turn: Turn, untilMs: number): MaybePromise<Outcome> {
    return after(yieldIfSlow(ask(), turn), (listed) => {
      if (noteLength(listed)) return representArray(listed, request, key);
      const other = otherReading(listed);
      if (other !== undefined) {
        const inTime = yieldIfSlow(endsBefore(untilMs, other), turn);
        return after(inTime, (isInTime) =>
          isInTime && !request.isAborted() ? askInTurn(request, key, turn, untilMs) : giveUp(request),
        );
      }
      turn.end();
      return answer(listed, request, key);
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
    const turn = await turns.take(key, request.isAborted, MOST_WAITING);
    if (turn === undefined) return giveUp(request);
    turn.yieldPlace();
    const starting = startStream(pages);
    starting.then(({ ended }) => ended).then(turn.end, turn.end);
    return { status: 200, fields: STREAM_FIELDS, body: await starting };
  }

  /** Represents a list with a version. */
  function share(listed: ListedOrders, request: ListAsker, key: string): MaybePromise<Outcome> {
    const { version } = listed;
    if (remembered !== undefined && remembered.version === version) return select(remembered.list, request, key);
    return after(reading?.list ?? read(listed), (list) => select(list, request, key));
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

/** Lets other keys begin if a turn has to wait for long. */
function yieldIfSlow<T>(result: MaybePromise<T>, { yieldPlace }: Turn): MaybePromise<T> {
  if (!isPromise(result)) return result;
  const slow = setTimeout(yieldPlace, SLOW_MS);
  return result.finally(() => clearTimeout(slow));
}

/** Reports whether a reading ends, or fails, before a time. Resolves at that time at the latest. */
async function endsBefore(untilMs: number, reading: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, untilMs - performance.now(), false);
  });
  const ended = reading.then(
    () => true,
    () => true,
  );
  return Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

function giveUp(request: ListAsker): Outcome {
  return request.isAborted() ? ABORTED : unavailable();
}
