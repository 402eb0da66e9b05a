import type { TestContext } from 'node:test';
import { createMemoryLimiter, createMemoryOrderStore, PLANS } from 'store-orders';
import { createOrderServer, type OrderServerOptions } from 'store-orders/server';
import { listenOnFreePort } from '../../../support/listen.js';

/**
 * Starts a server without orders, and stops it at the end of the test. The only valid key is
 * `ours`.
 */
export async function listen(t: TestContext, options: Partial<OrderServerOptions> = {}) {
  const server = createOrderServer({
    store: createMemoryOrderStore(),
    limiter: createMemoryLimiter(),
    authenticate: (apiKey) => (apiKey === 'ours' ? { id: 'us', plan: PLANS.business } : undefined),
    ...options,
  });
  const port = await listenOnFreePort(server);
  t.after(() => server.drain(0));
  return { server, port, origin: `http://127.0.0.1:${port}` };
}
