import { channel } from 'node:diagnostics_channel';
import type { OrderId } from '../order.js';
import { createGrouping } from './grouping.js';

/** The statements that change one order, or several orders together. */
export interface Ask<Outcome> {
  alone(id: OrderId): Promise<Outcome>;
  /**
   * Changes several orders. `ids` are all different and sorted in ascending order. Resolves to a
   * function that returns the outcome of one order, or `locked` if another transaction has locked
   * the order. The function throws if this order could not be changed although the statement
   * succeeded.
   */
  together(ids: readonly OrderId[]): Promise<(id: OrderId) => { readonly outcome: Outcome } | 'locked'>;
}

interface Caller<Outcome> {
  readonly id: OrderId;
  resolve(outcome: Outcome | Promise<Outcome>): void;
  reject(error: unknown): void;
}

/**
 * The most callers in a group. More would cost the server little, but all callers of a group wait
 * for its slowest order.
 */
const MOST_TOGETHER = 128;
/** At most this many connections wait at a time for rows that another transaction has locked. */
const MOST_ALONE = 4;

/** The channel on which each statement publishes how many requests share it, as `{ writes }`. */
const commits = channel('store-orders:commit');

/**
 * Creates a function that changes an order. Concurrent changes are sent as a group, in one round
 * trip and one commit. If another transaction has locked an order of the group, this order is then
 * sent alone. If the server rejects a whole group, each of its orders is sent alone, so that one
 * failure does not affect the others. A statement whose reply is lost is never sent again.
 */
export function createGroups<Outcome>(ask: Ask<Outcome>): (id: OrderId) => Promise<Outcome> {
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

  const group = createGrouping(MOST_TOGETHER, send);
  return (id) => new Promise((resolve, reject) => group({ id, resolve, reject }));
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
  if (!(error instanceof Error) || !('code' in error)) return false;
  const code = String(error.code);
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(code) && !NOT_OF_THE_STATEMENT.includes(code.slice(0, 2));
}
