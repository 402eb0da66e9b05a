/**
 * An API route in the folder `pages` of Next.js: save this file as
 * `pages/api/v1/store/orders/[[...id]].ts`. All paths of such routes begin with `/api`. Next.js does
 * not report the client's address. Take it only from the header field that your platform sets.
 */
import {
  createKeyAuthenticator,
  createMemoryLimiter,
  createMemoryOrderStore,
  createOrderService,
  nodeHandler,
  PLANS,
} from 'store-orders';

const service = createOrderService({
  store: createMemoryOrderStore([{ id: 1, petId: 12, quantity: 2 }]),
  limiter: createMemoryLimiter(),
  authenticate: createKeyAuthenticator({ 'open-sesame': { id: 'customer-1', plan: PLANS.free } }),
  basePath: '/api/v1',
});

// Without these settings, Next.js would read the content of requests, and warn about each response
// that is sent after the handler has returned.
export const config = { api: { bodyParser: false, externalResolver: true } };

export default nodeHandler(service, {
  clientAddress: (request) => {
    const address = request.headers['x-real-ip'];
    return typeof address === 'string' ? address : undefined;
  },
});
