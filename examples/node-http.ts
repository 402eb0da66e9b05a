/**
 * A plain node:http server with routes of its own, and the orders beside them over the host's own table and keys.
 *
 *     node --import tsx examples/node-http.ts
 *     curl -H 'Authorization: Bearer open-sesame' http://127.0.0.1:3000/v1/store/orders
 */
import { createServer } from 'node:http';
import {
  type Authenticate,
  cancel,
  createMemoryLimiter,
  createOrderService,
  nodeHandler,
  type OrderStore,
  PLANS,
} from 'store-orders';

// The host's own rows. A real one reads and writes its database here, and does the two lines of `cancel` in a transaction.
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
    const outcome = cancel(row?.status);
    if (row !== undefined && outcome === 'cancelled') row.status = 'cancelled';
    return outcome;
  },
};

const authenticate: Authenticate = (apiKey) =>
  apiKey === 'open-sesame' ? { id: 'customer-1', plan: PLANS.free } : undefined;

const orders = nodeHandler(createOrderService({ store, limiter: createMemoryLimiter(), authenticate }));

const server = createServer((request, response) =>
  orders(request, response, () => {
    // Not a path of the orders service: the host's own routes.
    response.writeHead(request.url === '/' ? 200 : 404, { 'Content-Type': 'text/plain' });
    response.end(request.url === '/' ? 'the host\n' : 'nothing here\n');
  }),
);

server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') console.log(`listening on http://127.0.0.1:${address?.port}`);
});
