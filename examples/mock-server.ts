/**
 * A mock for the developers of a front end: pages of any origin may use it (CORS), each call of the
 * store takes a while, and every tenth one fails, so that the client gets a 503 with `Retry-After`.
 *
 *     node --import tsx examples/mock-server.ts
 *     curl -i -H 'Authorization: Bearer open-sesame' http://127.0.0.1:3000/v1/store/orders
 */
import { setTimeout } from 'node:timers/promises';
import { createKeyAuthenticator, createMemoryLimiter, createMemoryOrderStore, PLANS } from 'store-orders';
import { createOrderServer } from 'store-orders/server';

const LATENCY_MS = 300;
const FAILS_EVERY = 10;

let calls = 0;
async function hinder(): Promise<void> {
  await setTimeout(LATENCY_MS);
  if (++calls % FAILS_EVERY === 0) throw new Error('this call is meant to fail');
}

const orders = createMemoryOrderStore([
  { id: 1, petId: 12, quantity: 1, shipDate: '2026-07-16T00:00:00Z', complete: true, status: 'shipped' },
  { id: 9007199254740993n, petId: 7, quantity: 2 },
]);

const server = createOrderServer({
  store: {
    list: () => hinder().then(orders.list),
    cancel: (id) => hinder().then(() => orders.cancel(id)),
  },
  limiter: createMemoryLimiter(),
  authenticate: createKeyAuthenticator({ 'open-sesame': { id: 'customer-1', plan: PLANS.pro } }),
  corsOrigins: ['*'],
});

server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => console.log('listening on', server.address()));
