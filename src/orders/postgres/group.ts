import { type Context, contextOf, currentContext } from '../../databases/context.js';
import { codeOf } from '../../databases/postgres/client.js';
import { createTurns } from '../../databases/postgres/turns.js';
import type { OrderId } from '../order.js';

/**
 * Changes the status of orders in one statement. `ids` are distinct and ascending. Resolves to a
 * function that returns the result for one order.
 */
export type Change<Outcome> = (ids: readonly OrderId[]) => Promise<(id: OrderId) => Attempt<Outcome>>;

/**
 * `locked`: another transaction has locked the order, so the statement has not changed it. An error:
 * the order should have changed but did not.
 */
export type Attempt<Outcome> = Outcome | 'locked' | Error;

interface Caller<Outcome> {
  readonly id: OrderId;
  readonly context: Context;
  readonly untilMs: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** The most callers in a group, because all of them wait for its slowest order. */
const MOST_TOGETHER = 128;
/** The most parts of failed groups that are sent at a time, to leave connections free. */
const MOST_PARTS = 4;
/** A call whose order is locked for this long rejects. */
const PATIENCE_MS = 5_000;
/** The pause before a locked order is sent again. */
const PAUSE_MS = 50;

/**
 * Creates a function that changes an order. Concurrent changes are sent as a group, in one round
 * trip and one commit. If the server rejects a whole group, each half of it is sent again, so that
 * one failure does not affect the others. A statement whose reply is lost is never sent again.
 *
 * No statement waits for a locked row, because other calls need its connection. A locked order is
 * sent again after a pause, for up to 5 s.
 */
export function createGroupedChange<Outcome extends string>(
  change: Change<Outcome>,
): (id: OrderId) => Promise<Outcome> {
  const group = createGrouping(MOST_TOGETHER, send);
  const parts = createTurns(MOST_PARTS);
  const shared = currentContext();

  async function send(callers: readonly Caller<Outcome>[]): Promise<void> {
    const ids = [...new Set(callers.map(({ id }) => id))].sort((a, b) => (a < b ? -1 : 1));
    try {
      const attemptOf = await change(ids);
      for (const caller of callers) {
        const attempt = attemptOf(caller.id);
        if (attempt === 'locked') sendLater(caller, group);
        else if (attempt instanceof Error) caller.reject(attempt);
        else caller.resolve(attempt);
      }
    } catch (error) {
      const isAlone = ids.length === 1;
      if (!isAlone && isStatementError(error)) return sendHalves(callers, ids);
      for (const caller of callers) {
        // The order stays alone, as it would fail a group.
        if (isAlone && ROLLED_BACK.includes(codeOf(error))) sendLater(caller, () => sendPart([caller]));
        else caller.reject(error);
      }
    }
  }

  /** Calls for the same order stay together, so that their outcomes follow each other. */
  function sendHalves(callers: readonly Caller<Outcome>[], ids: readonly OrderId[]): void {
    const half = new Set(ids.slice(ids.length >> 1));
    for (const isIn of [false, true]) {
      const part = callers.filter(({ id }) => half.has(id) === isIn);
      contextOf(part, shared).runInAsyncScope(sendPart, undefined, part);
    }
  }

  async function sendPart(callers: readonly Caller<Outcome>[]): Promise<void> {
    const untilMs = Math.min(...callers.map((caller) => caller.untilMs));
    if (await parts.take(untilMs - performance.now())) {
      await send(callers);
      parts.end();
    } else {
      for (const caller of callers) caller.reject(tooLate(caller));
    }
  }

  function sendLater(caller: Caller<Outcome>, sendAgain: (caller: Caller<Outcome>) => unknown): void {
    if (performance.now() < caller.untilMs) setTimeout(sendAgain, PAUSE_MS, caller);
    else caller.reject(tooLate(caller));
  }

  return (id) =>
    new Promise((resolve, reject) => {
      const untilMs = performance.now() + PATIENCE_MS;
      group({ id, context: currentContext(), untilMs, resolve, reject });
    });
}

function tooLate({ id }: Caller<unknown>): Error {
  return new Error(`order ${id}: other transactions have kept it from being changed for ${PATIENCE_MS / 1_000} s`);
}

/**
 * The SQLSTATE codes of a statement that the server rolled back in favour of other transactions: its
 * trigger waited too long for a lock, its isolation is above READ COMMITTED, or it was in a deadlock.
 */
const ROLLED_BACK = ['55P03', '40001', '40P01'];

/**
 * SQLSTATE classes of errors that the statement did not cause. After such an error, the orders are
 * not sent again: the statement may have run, or another one would fail in the same way.
 */
const UNRELATED_CLASSES = ['08', '25', '53', '57', '58', 'XX'];

/**
 * Reports whether the server rolled the statement back because of an error in it. A code of
 * Node.js, such as `EPIPE`, has no digit, but every SQLSTATE code has one.
 */
function isStatementError(error: unknown): boolean {
  const code = codeOf(error);
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(code) && !UNRELATED_CLASSES.includes(code.slice(0, 2));
}

/**
 * After this time, the next group is sent even if one is still in flight, so that a slow group does
 * not delay all later calls.
 */
const SLOW_MS = 25;
/** With this many groups in flight, calls gather in one next group, instead of in many small ones. */
const MOST_IN_FLIGHT = 4;

/**
 * Creates a function that groups its calls: those of one pass of the event loop, and those made
 * while another group is in flight. `send` receives at most `most` calls. All of them were made
 * before `send` starts, so no call receives older data than it would have read itself. A call that
 * is sent alone runs in its own context, and several in that in which the grouping was created.
 */
function createGrouping<Call extends { readonly context: Context }>(
  most: number,
  send: (calls: readonly Call[]) => Promise<unknown>,
): (call: Call) => void {
  const shared = currentContext();
  let waiting: Call[] = [];
  let inFlight = 0;
  /** Whether the next group waits for the one before it. */
  let isHeld = false;

  function schedule(): void {
    if (isHeld || waiting.length === 0 || inFlight === MOST_IN_FLIGHT) return;
    isHeld = true;
    setImmediate(sendNext);
  }

  function sendNext(): void {
    const calls = waiting.slice(0, most);
    waiting = waiting.slice(most);
    inFlight++;
    const slow = setTimeout(release, SLOW_MS);
    let isReleased = false;
    function release(): void {
      if (!isReleased) isHeld = false;
      isReleased = true;
      clearTimeout(slow);
      schedule();
    }
    function end(): void {
      inFlight--;
      release();
    }
    contextOf(calls, shared).runInAsyncScope(send, undefined, calls).then(end, end);
  }

  return (call) => {
    waiting.push(call);
    schedule();
  };
}
