export const ORDER_STATUSES = ['pending', 'shipped', 'cancelled'] as const;

/**
 * `pending`, `shipped`, `cancelled`, or another lower-case word that only the embedding program uses.
 * An order with such another status can be neither cancelled nor shipped.
 */
export type OrderStatus = (typeof ORDER_STATUSES)[number] | (string & {});

/** The result of cancelling. Only `cancelled` means that the order was changed. */
export type CancelOutcome = 'cancelled' | 'already_shipped' | 'already_cancelled' | 'not_pending' | 'not_found';

/** The result of shipping. Only `shipped` means that the order was changed. */
export type ShipOutcome = 'shipped' | 'already_shipped' | 'already_cancelled' | 'not_pending' | 'not_found';

const TRANSITIONS = new Map<string | undefined, { readonly cancel: CancelOutcome; readonly ship: ShipOutcome }>([
  ['pending', { cancel: 'cancelled', ship: 'shipped' }],
  ['shipped', { cancel: 'already_shipped', ship: 'already_shipped' }],
  ['cancelled', { cancel: 'already_cancelled', ship: 'already_cancelled' }],
  [undefined, { cancel: 'not_found', ship: 'not_found' }],
]);

/**
 * Returns the outcome of cancelling an order with this status (`undefined`: no such order). Only a
 * pending order can be cancelled (specification, part 3). Pure. A store calls this in its atomic
 * step, and sets the new status if the outcome is `cancelled`.
 */
export function cancelOutcome(status: OrderStatus | undefined): CancelOutcome {
  return TRANSITIONS.get(status)?.cancel ?? 'not_pending';
}

/** Returns the outcome of shipping an order. The rules are those of {@link cancelOutcome}. */
export function shipOutcome(status: OrderStatus | undefined): ShipOutcome {
  return TRANSITIONS.get(status)?.ship ?? 'not_pending';
}
