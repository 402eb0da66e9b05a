import { channel } from 'node:diagnostics_channel';
import type { OrderId } from '../order.js';

/** A way to ask for one order, and one for several at a time. */
export interface Ask<Outcome> {
  alone(id: OrderId): Promise<Outcome>;
  /**
   * Asks for orders that differ, ascending. Of each it then gives the outcome, or throws what
   * failed of that one alone.
   */
  together(ids: readonly OrderId[]): Promise<(id: OrderId) => { readonly outcome: Outcome } | 'locked'>;
}

interface Caller<Outcome> {
  readonly id: OrderId;
  resolve(outcome: Outcome | Promise<Outcome>): void;
  reject(error: unknown): void;
}

/** A few callers more cost the server little, and all of a group wait for the slowest. */
const MOST_TOGETHER = 128;
/** How many connections may wait for rows that somebody else has locked. */
const MOST_ALONE = 4;
/** What takes longer holds up nobody: the next group is sent beside it. */
const SLOW_MS = 25;

/** How many were asked for together: `{ writes }`. */
const commits = channel('store-orders:commit');

/**
 * Sends what is asked for in one turn of the event loop, and while a statement is on its way, with
 * the next one: one round trip and one commit for all of them. An order that somebody else has
 * locked is asked for alone, and so is each order of a group that the server refused as a whole, so
 * that one failure fails alone. What was not answered is not sent again.
 */
export function createGroups<Outcome>(ask: Ask<Outcome>): (id: OrderId) => Promise<Outcome> {
  let waiting: Caller<Outcome>[] = [];
  let isHeld = false;
  let alone = 0;
  let queued: (() => void)[] = [];

  async function askAlone(id: OrderId): Promise<Outcome> {
    while (alone >= MOST_ALONE) await new Promise<void>((resolve) => queued.push(resolve));
    alone++;
    try {
      return await ask.alone(id);
    } finally {
      alone--;
      const [first, ...others] = queued;
      queued = others;
      first?.();
    }
  }

  async function send(callers: readonly Caller<Outcome>[]): Promise<void> {
    if (commits.hasSubscribers) commits.publish({ writes: callers.length });
    const [first, ...others] = callers;
    if (first !== undefined && others.length === 0 && alone < MOST_ALONE) {
      await askAlone(first.id).then(first.resolve, first.reject);
      return;
    }
    try {
      const ids = [...new Set(callers.map(({ id }) => id))].sort((a, b) => (a < b ? -1 : 1));
      const outcomeOf = await ask.together(ids);
      for (const caller of callers) settle(caller, outcomeOf);
    } catch (error) {
      for (const { id, resolve, reject } of callers) isRefusal(error) ? resolve(askAlone(id)) : reject(error);
    }
  }

  function settle({ id, resolve, reject }: Caller<Outcome>, outcomeOf: Awaited<ReturnType<Ask<Outcome>['together']>>) {
    try {
      const found = outcomeOf(id);
      resolve(found === 'locked' ? askAlone(id) : found.outcome);
    } catch (error) {
      reject(error);
    }
  }

  function sendNext(): void {
    const callers = waiting.slice(0, MOST_TOGETHER);
    waiting = waiting.slice(MOST_TOGETHER);
    const slow = setTimeout(release, SLOW_MS);
    let isReleased = false;
    function release(): void {
      if (isReleased) return;
      isReleased = true;
      clearTimeout(slow);
      isHeld = waiting.length > 0;
      if (isHeld) setImmediate(sendNext);
    }
    void send(callers).finally(release);
  }

  return (id) =>
    new Promise((resolve, reject) => {
      waiting.push({ id, resolve, reject });
      if (!isHeld) setImmediate(sendNext);
      isHeld = true;
    });
}

/**
 * Classes of errors after which a statement may have been carried out, or which the next one would
 * meet as well.
 */
const NOT_OF_THE_STATEMENT = ['08', '53', '57', '58', 'XX'];

/**
 * Whether the server has undone the statement because of something in it. Node's own codes have no
 * digit.
 */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  const code = String(error.code);
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(code) && !NOT_OF_THE_STATEMENT.includes(code.slice(0, 2));
}
