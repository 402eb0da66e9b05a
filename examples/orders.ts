/**
 * Creates the service that most examples in this folder mount in their application. This file also
 * defines the orders and the API keys of that application. It does not start a server.
 */
import { createKeyAuthenticator, createMemoryLimiter, createOrderService, type OrderStore, PLANS } from 'store-orders';
import { cancelOutcome } from 'store-orders/cancellation';

// The host's orders. A real host keeps them in its database, and its `cancel` reads and writes in
// one transaction.
export const rows = [
  { id: 1n, petId: 12n, quantity: 1, shipDate: '2026-07-16T00:00:00Z', complete: true, status: 'shipped' },
  {
    id: 9007199254740993n,
    petId: 7n,
    quantity: 2,
    shipDate: '2026-08-01T00:00:00Z',
    complete: false,
    status: 'pending',
  },
];

export const store: OrderStore = {
  list: () => rows,
  cancel(id) {
    const row = rows.find((row) => row.id === id);
    const outcome = cancelOutcome(row?.status);
    if (row !== undefined && outcome === 'cancelled') row.status = 'cancelled';
    return outcome;
  },
};

export const authenticate = createKeyAuthenticator({ 'open-sesame': { id: 'customer-1', plan: PLANS.free } });

export const limiter = createMemoryLimiter();

export const service = createOrderService({ store, limiter, authenticate });

/** The port on which the examples listen. */
export const port = Number(process.env['PORT'] ?? 3000);
