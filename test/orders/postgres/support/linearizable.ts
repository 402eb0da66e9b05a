import { cancelOutcome, shipOutcome } from 'store-orders/cancellation';

/** What was asked of one order, when, and what the answer was. Times are of one clock. */
export interface Operation {
  readonly kind: 'cancel' | 'ship' | 'read';
  readonly start: number;
  /** `Infinity` where no answer came: it may have been done at any time since, or never. */
  readonly end: number;
  /** The outcome, or the status that was read; `undefined` where no answer came. */
  readonly answer: string | undefined;
}

/**
 * Whether there is an order of the operations, each at one moment between its start and its end, in which the state
 * machine gives these answers to a pending order.
 */
export function isLinearizable(operations: readonly Operation[], status = 'pending'): boolean {
  const firstEnd = Math.min(...operations.map(({ end }) => end));
  // Those without an answer may never have been done.
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
