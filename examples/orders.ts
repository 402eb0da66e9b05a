/**
 * Creates the service that most servers in this folder mount, over the host's own table and keys.
 * This file is not a server itself.
 */
import {
  cancelOutcome,
  createKeyAuthenticator,
  createMemoryLimiter,
  createOrderService,
  type OrderStore,
  PLANS,
} from 'store-orders';

// The host's own rows. A real host reads and writes its database instead, and runs the read and the
// write of `cancel` in one transaction.
const rows = [
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

const store: OrderStore = {
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

/** The port on which these servers listen. */
export const port = Number(process.env['PORT'] ?? 3000);
