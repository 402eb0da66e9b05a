import type { MaybePromise } from '../../orders/index.js';
import { after, attempt } from '../maybe-promise.js';

/** A turn of a key. It ends with the work, or earlier. */
export interface Turn {
  /** Lets another key begin. The key itself waits until the end of the turn. */
  yieldPlace(): void;
  end(): void;
}

interface Waiting {
  isGone(): boolean;
  resolve(turn: Turn | undefined): void;
}

/**
 * Lets each key do one thing at a time, and at most `places` keys at the same time. A request waits for
 * `patienceMs` at most.
 */
export function createFairTurns(places: number, patienceMs: number) {
  const working = new Set<string>();
  /** The requests of each key that wait. The key whose last turn ended first comes first. */
  const queues = new Map<string, readonly Waiting[]>();
  let free = places;

  function begin(key: string): Turn {
    let hasPlace = true;
    let isOver = false;
    working.add(key);
    free--;

    function yieldPlace(): void {
      if (hasPlace) free++;
      hasPlace = false;
      beginNext();
    }

    return {
      yieldPlace,
      end() {
        if (isOver) return;
        isOver = true;
        working.delete(key);
        const queue = queues.get(key) ?? [];
        queues.delete(key);
        setQueue(key, queue);
        yieldPlace();
      },
    };
  }

  function beginNext(): void {
    for (const [key, queue] of queues) {
      if (free === 0) return;
      if (working.has(key)) continue;
      const [next, ...others] = withoutGone(queue);
      setQueue(key, others);
      if (next !== undefined) next.resolve(begin(key));
    }
  }

  function setQueue(key: string, queue: readonly Waiting[]): void {
    if (queue.length > 0) queues.set(key, queue);
    else queues.delete(key);
  }

  function take(key: string, isAborted: () => boolean, most = Infinity): MaybePromise<Turn | undefined> {
    if (free > 0 && !working.has(key)) return begin(key);
    const queue = withoutGone(queues.get(key) ?? []);
    if (queue.length >= most) return undefined;
    return new Promise((resolve) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        resolve(undefined);
      }, patienceMs);
      const waiting: Waiting = {
        isGone: () => isLate || isAborted(),
        resolve(turn) {
          clearTimeout(timer);
          resolve(turn);
        },
      };
      queues.set(key, [...queue, waiting]);
    });
  }

  return {
    /** Returns a turn that lasts until its end, for work that goes on after its result, as `run` does. */
    take,
    /**
     * Calls `work` in a turn of the key, at once if possible. Waiting keys take turns, so a key with
     * many requests delays each other key by one turn. If the request has waited for too long, if `most`
     * of its key wait already, or if `isAborted` returns true at the turn, the result is `undefined`.
     */
    run<T>(
      key: string,
      isAborted: () => boolean,
      work: (turn: Turn) => MaybePromise<T>,
      most?: number,
    ): MaybePromise<T | undefined> {
      return after(take(key, isAborted, most), (turn) => turn && endAfter(turn, () => work(turn)));
    },
  };
}

function endAfter<T>(turn: Turn, work: () => MaybePromise<T>): MaybePromise<T> {
  const result = attempt(work, (error) => {
    turn.end();
    throw error;
  });
  return after(result, (value) => {
    turn.end();
    return value;
  });
}

/** Returns the requests whose clients still wait. The others leave the queue. */
function withoutGone(queue: readonly Waiting[]): Waiting[] {
  return queue.filter(({ isGone, resolve }) => {
    if (!isGone()) return true;
    resolve(undefined);
    return false;
  });
}
