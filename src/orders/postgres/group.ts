import { publishCommit } from '../../commits.js';
import { createTurns } from '../../databases/postgres/turns.js';
import { createGrouping } from '../grouping.js';
import type { OrderId } from '../order.js';

/** The statements that change the status of one order, or of several orders together. */
export interface Statements<Outcome> {
  one(id: OrderId): Promise<Attempt<Outcome>>;
  /**
   * `ids` are all different and sorted in ascending order. Resolves to a function that returns the
   * result for one order. The function throws if this order could not be changed although the
   * statement succeeded.
   */
  several(ids: readonly OrderId[]): Promise<(id: OrderId) => Attempt<Outcome>>;
}

/** `locked` if another transaction has locked the order. Then the statement has not changed it. */
export type Attempt<Outcome> = { readonly outcome: Outcome } | 'locked';

interface Caller<Outcome> {
  readonly id: OrderId;
  readonly sinceMs: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/**
 * The most callers in a group. More would cost the server little, but all callers of a group wait
 * for its slowest order.
 */
const MOST_TOGETHER = 128;
/** At most this many orders are changed alone at the same time, each on a connection of its own. */
const MOST_ALONE = 4;
/** A call whose order is locked for this long rejects. */
const PATIENCE_MS = 5_000;
const SHORTEST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 250;

/**
 * Creates a function that changes an order. Concurrent changes are sent as a group, in one round
 * trip and one commit. If the server rejects a whole group, each of its orders is sent alone, so
 * that one failure does not affect the others. A statement whose reply is lost is never sent again.
 *
 * No statement waits for a row that another transaction has locked, because it would keep its
 * connection from others. Such an order is sent again after a pause, for up to 5 s.
 */
export function createGroups<Outcome>(statements: Statements<Outcome>): (id: OrderId) => Promise<Outcome> {
  const group = createGrouping(MOST_TOGETHER, send);
  const alone = createTurns(MOST_ALONE);

  async function send(callers: readonly Caller<Outcome>[]): Promise<void> {
    publishCommit(callers.length);
    const [first, ...others] = callers;
    if (first !== undefined && others.length === 0 && !alone.isFull()) return sendAlone(first);
    try {
      const ids = [...new Set(callers.map(({ id }) => id))].sort((a, b) => (a < b ? -1 : 1));
      const attemptOf = await statements.several(ids);
      for (const caller of callers) settle(caller, () => attemptOf(caller.id));
    } catch (error) {
      for (const caller of callers) isRefusal(error) ? sendAlone(caller) : caller.reject(error);
    }
  }

  async function sendAlone(caller: Caller<Outcome>): Promise<void> {
    if (!(await alone.take(leftMs(caller)))) return caller.reject(tooLate(caller));
    try {
      const attempt = await statements.one(caller.id);
      settle(caller, () => attempt);
    } catch (error) {
      isLockTimeout(error) ? sendLater(caller, sendAlone) : caller.reject(error);
    } finally {
      alone.end();
    }
  }

  function settle(caller: Caller<Outcome>, attemptOf: () => Attempt<Outcome>): void {
    try {
      const attempt = attemptOf();
      attempt === 'locked' ? sendLater(caller, group) : caller.resolve(attempt.outcome);
    } catch (error) {
      caller.reject(error);
    }
  }

  /** Sends an order again after a pause that is as long as the caller has waited, within limits. */
  function sendLater(caller: Caller<Outcome>, sendAgain: (caller: Caller<Outcome>) => unknown): void {
    const pauseMs = Math.min(Math.max(performance.now() - caller.sinceMs, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
    if (leftMs(caller) <= 0) caller.reject(tooLate(caller));
    else setTimeout(sendAgain, Math.min(pauseMs, leftMs(caller)), caller);
  }

  return (id) => new Promise((resolve, reject) => group({ id, sinceMs: performance.now(), resolve, reject }));
}

function leftMs({ sinceMs }: Caller<unknown>): number {
  return sinceMs + PATIENCE_MS - performance.now();
}

function tooLate({ id }: Caller<unknown>): Error {
  return new Error(`order ${id}: another transaction has held a lock for more than ${PATIENCE_MS / 1_000} s`);
}

/**
 * The SQLSTATE classes of errors that are not caused by the statement. After such an error, the
 * orders are not sent again: either the statement may have run, or a further statement would fail
 * in the same way.
 */
const NOT_OF_THE_STATEMENT = ['08', '53', '57', '58', 'XX'];

/**
 * Reports whether the server has rolled the statement back because of an error in the statement.
 * Such an error has an SQLSTATE code of a class that is not in {@link NOT_OF_THE_STATEMENT}. An
 * SQLSTATE code has five characters, at least one of them a digit. A connection error of Node.js
 * has a code without digits, such as `EPIPE`.
 */
function isRefusal(error: unknown): boolean {
  const code = codeOf(error);
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(code) && !NOT_OF_THE_STATEMENT.includes(code.slice(0, 2));
}

function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
