/**
 * Serves to each customer only the customer's own orders. The specification has no owners, so the
 * service does not tell the store who asks. `authenticate` leaves this in an AsyncLocalStorage.
 *
 *     node --import tsx examples/owners.ts
 *     curl -H 'Authorization: Bearer open-sesame' http://127.0.0.1:3000/v1/store/orders
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer } from 'node:http';
import {
  createKeyAuthenticator,
  createMemoryLimiter,
  createOrderService,
  nodeHandler,
  type OrderStore,
  PLANS,
} from 'store-orders';
import { cancelOutcome } from 'store-orders/cancellation';
import { port } from './orders.ts';

const rows = [
  { owner: 'customer-1', id: 9007199254740993n, petId: 7n, quantity: 2, status: 'pending' },
  { owner: 'customer-2', id: 9007199254740995n, petId: 8n, quantity: 1, status: 'pending' },
];

/** Who sent the request that is being served. */
const requester = new AsyncLocalStorage<{ id?: string }>();
const ownRows = () => rows.filter(({ owner }) => owner === requester.getStore()?.id);

const store: OrderStore = {
  // A `version` would have to begin with the customer's id: the service sends a list that has one to
  // every customer for whom the store returns the same version. For customers who have a database
  // each, create a service for each of them instead.
  list: () => ownRows(),
  // For the order of another customer this is `not_found`, so that nobody learns that it exists.
  cancel(id) {
    const row = ownRows().find((row) => row.id === id);
    const outcome = cancelOutcome(row?.status);
    if (row !== undefined && outcome === 'cancelled') row.status = 'cancelled';
    return outcome;
  },
};

const customerOf = createKeyAuthenticator({
  'open-sesame': { id: 'customer-1', plan: PLANS.free },
  'open-barley': { id: 'customer-2', plan: PLANS.free },
});

const orders = nodeHandler(
  createOrderService({
    store,
    limiter: createMemoryLimiter(),
    authenticate(apiKey) {
      const customer = customerOf(apiKey);
      const context = requester.getStore();
      if (customer !== undefined && context !== undefined) context.id = customer.id;
      return customer;
    },
  }),
);

const server = createServer((request, response) =>
  requester.run({}, orders, request, response, () => {
    response.writeHead(request.url === '/' ? 200 : 404, { 'Content-Type': 'text/plain' });
    response.end(request.url === '/' ? 'the host\n' : 'nothing here\n');
  }),
);

server.listen(port, '127.0.0.1', () => console.log('listening on', server.address()));
