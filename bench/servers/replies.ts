import { createMemoryLimiter, createOrderService, type Reply } from 'store-orders';
import { fakeStore } from '../../test/support/fake-store.js';
import { API_KEY, tenOrders } from './orders.js';
import { PLENTY } from './plenty.js';

// The service's responses to the measured requests, created once at the start. The bare servers
// send exactly these bytes. The servers of `rivals/` send the same bodies.
const { list } = tenOrders();
const service = createOrderService({
  store: fakeStore({ list, cancel: (id) => (id === 1n ? 'not_found' : 'cancelled') }),
  limiter: createMemoryLimiter(),
  authenticate: () => ({ id: 'bench', plan: PLENTY }),
});

export const LISTED = await reply('GET', '/v1/store/orders');
export const MISSING = await reply('DELETE', '/v1/store/orders/1');
export const CANCELLED = await reply('DELETE', '/v1/store/orders/2');

async function reply(method: string, url: string): Promise<Reply & { readonly body: string | undefined }> {
  const { body, ...rest } = await service.respond({
    method,
    url,
    rawHeaders: ['Authorization', `Bearer ${API_KEY}`],
  });
  if (body !== undefined && typeof body !== 'string') throw new TypeError('expected a response body of type string');
  return { ...rest, body };
}
