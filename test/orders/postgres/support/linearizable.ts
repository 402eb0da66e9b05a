import { cancelOutcome, shipOutcome } from 'store-orders/cancellation';

/**
 * One operation on an order, when it ran, and its result. The times of all operations come from the
 * same clock.
 */
export interface Operation {
  readonly kind: 'cancel' | 'ship' | 'read';
  readonly start: number;
  /**
   * `Infinity` if no reply came: the operation may have happened at any time since its start, or
   * never.
   */
  readonly end: number;
  /** The outcome, or the status that was read. `undefined` if no reply came. */
  readonly answer: string | undefined;
}

/**
 * Reports whether the operations on a pending order are linearizable. They are if some sequence of
 * them fulfils two conditions: the state machine returns their results in this sequence, and each
 * operation happens between its start and its end.
 */
export function isLinearizable(operations: readonly Operation[], status = 'pending'): boolean {
  const firstEnd = Math.min(...operations.map(({ end }) => end));
  // All operations that are left have no reply, so they may never have happened.
  if (firstEnd === Infinity) return true;
  return operations.some((operation) => {
    if (operation.start > firstEnd) return false;
    const { answer, next } = perform(operation.kind, status);
    if (operation.answer === undefined ? next === status : operation.answer !== answer) return false;
    return isLinearizable(
      operations.filter((other) => other !== operation),
      next,
    );
  });
}

function perform(kind: Operation['kind'], status: string): { readonly answer: string; readonly next: string } {
  if (kind === 'read') return { answer: status, next: status };
  const answer = kind === 'cancel' ? cancelOutcome(status) : shipOutcome(status);
  return { answer, next: answer === 'cancelled' || answer === 'shipped' ? answer : status };
}
