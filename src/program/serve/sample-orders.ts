import type { OrderInput } from '../../orders/index.js';

/** The orders of a new database. One id is above 2^53, to expose a client that rounds ids. */
export const SAMPLE_ORDERS: readonly OrderInput[] = [
  { id: 1, petId: 101, quantity: 1, shipDate: '2026-01-05T09:30:00Z', complete: true, status: 'shipped' },
  { id: 2, petId: 102, quantity: 2, shipDate: '2026-01-07T14:00:00Z', complete: true, status: 'shipped' },
  { id: 3, petId: 103, quantity: 1, shipDate: '2026-01-12T08:15:00+01:00', complete: true, status: 'shipped' },
  { id: 4, petId: 104, quantity: 12, shipDate: '2026-01-15T11:45:00Z', complete: true, status: 'shipped' },
  { id: 5, petId: 101, quantity: 1, shipDate: '2030-03-02T10:00:00Z', complete: false, status: 'pending' },
  { id: 6, petId: 105, quantity: 3, shipDate: '2030-03-04T16:20:00Z', complete: false, status: 'pending' },
  { id: 7, petId: 106, quantity: 1, complete: false, status: 'pending' },
  { id: 8, petId: 107, quantity: 40, shipDate: '2030-04-01T07:00:00-05:00', complete: false, status: 'pending' },
  { id: 9, petId: 102, quantity: 2, shipDate: '2030-04-11T12:00:00.500Z', complete: false, status: 'pending' },
  { id: 9007199254740993n, petId: 108, quantity: 1, complete: false, status: 'pending' },
];
