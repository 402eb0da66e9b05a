/**
 * `pending`, `shipped` and `cancelled` are the states this service knows; a host may have others, which can be
 * neither cancelled nor shipped.
 */
export type OrderStatus = 'pending' | 'shipped' | 'cancelled' | (string & {});

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
 * Decides a cancellation from the status found, `undefined` for no such order; pure (specification, part 3: only a
 * pending order can be cancelled). A store calls it inside its atomic step and writes `cancelled` if that is the outcome.
 */
export function cancel(status: OrderStatus | undefined): CancelOutcome {
  return TRANSITIONS.get(status)?.cancel ?? 'not_pending';
}

/** The same for shipping, the host's side of the state machine: only a pending order can be shipped. */
export function ship(status: OrderStatus | undefined): ShipOutcome {
  return TRANSITIONS.get(status)?.ship ?? 'not_pending';
}
