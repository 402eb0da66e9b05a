/**
 * `pending`, `shipped` and `cancelled` are the states this service knows; a host may have others, which can be
 * neither cancelled nor shipped.
 */
export type OrderStatus = 'pending' | 'shipped' | 'cancelled' | (string & {});

/** The states that this service knows. */
export const ORDER_STATUSES: readonly OrderStatus[] = ['pending', 'shipped', 'cancelled'];

/** What a cancel came to. `cancelled` is the only one that changed the order. */
export type CancelOutcome = 'cancelled' | 'already_shipped' | 'already_cancelled' | 'not_pending' | 'not_found';

/** What shipping came to. `shipped` is the only one that changed the order. */
export type ShipOutcome = 'shipped' | 'already_shipped' | 'already_cancelled' | 'not_pending' | 'not_found';

const TRANSITIONS = new Map<string | undefined, { readonly cancel: CancelOutcome; readonly ship: ShipOutcome }>([
  ['pending', { cancel: 'cancelled', ship: 'shipped' }],
  ['shipped', { cancel: 'already_shipped', ship: 'already_shipped' }],
  ['cancelled', { cancel: 'already_cancelled', ship: 'already_cancelled' }],
  [undefined, { cancel: 'not_found', ship: 'not_found' }],
]);

/**
 * Decides what a cancel comes to, from the status that the store has found; `undefined` is for no
 * such order. Pure: it changes nothing. A store calls it inside its atomic step, and writes
 * `cancelled` if that is the outcome (specification, part 3: only a pending order can be cancelled).
 */
export function cancelOutcome(status: OrderStatus | undefined): CancelOutcome {
  return TRANSITIONS.get(status)?.cancel ?? 'not_pending';
}

/** Decides what shipping comes to. Only a pending order can be shipped. */
export function shipOutcome(status: OrderStatus | undefined): ShipOutcome {
  return TRANSITIONS.get(status)?.ship ?? 'not_pending';
}
