import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { createMemoryLimiter, createMemoryOrderStore, PLANS } from 'store-orders';
import { createOrderServer, type OrderServerOptions } from 'store-orders/server';

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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.drain(0));
  const { port } = server.address() as AddressInfo;
  return { server, port, origin: `http://127.0.0.1:${port}` };
}
