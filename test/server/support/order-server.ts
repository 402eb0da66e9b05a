import type { TestContext } from 'node:test';
import { createMemoryLimiter, createMemoryOrderStore, PLANS } from 'store-orders';
import { createOrderServer, type OrderServer, type OrderServerOptions } from 'store-orders/server';
import { listenOnFreePort } from '../../support/listen.js';

/**
 * Starts a server with one order, and stops it at the end of the test. The only valid key is
 * `ours`.
 */
export async function listen(
  t: TestContext,
  options: Partial<OrderServerOptions> = {},
  prepare: (server: OrderServer) => void = () => {},
) {
  const server = createOrderServer({
    store: createMemoryOrderStore([{ id: 1 }]),
    limiter: createMemoryLimiter(),
    authenticate: (apiKey) => (apiKey === 'ours' ? { id: 'us', plan: PLANS.business } : undefined),
    ...options,
  });
  prepare(server);
  const port = await listenOnFreePort(server);
  t.after(() => server.drain(0));
  return { server, port, origin: `http://127.0.0.1:${port}` };
}
