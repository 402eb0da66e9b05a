import { refilling } from '../announce.js';
import { PENDING_IDS } from '../orders.js';
import { LISTED, MISSING } from '../replies.js';

// The orders and keys of the servers in this folder. They are kept in Maps, as is usual without
// this library. A credential is looked up directly, which is faster than any framework's bearer
// authentication.

const statuses = new Map<number, string>();
const keyIds = new Map([['so_benchmark', 'bench']]);

export const LIST_BODY = `${LISTED.body}`;
export const NOT_FOUND_BODY = `${MISSING.body}`;

export const refill = refilling(() => {
  for (const id of PENDING_IDS) statuses.set(id, 'pending');
});

/** Cancels a pending order. Returns the HTTP status of the response. */
export function cancel(idText: string): 204 | 404 | 409 {
  const id = Number(idText);
  const status = statuses.get(id);
  if (status === undefined) return 404;
  if (status !== 'pending') return 409;
  statuses.set(id, 'cancelled');
  return 204;
}

/**
 * Returns the id of the API key in the `Authorization` field, or `undefined` if the key is unknown.
 */
export function keyIdOf(authorization: string | undefined): string | undefined {
  return authorization?.startsWith('Bearer ') ? keyIds.get(authorization.slice('Bearer '.length)) : undefined;
}
