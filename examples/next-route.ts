/**
 * A route handler of Next.js: save this file as `app/v1/store/orders/[[...id]]/route.ts`. Next.js
 * compresses responses itself, and would compress a compressed list again. It does not report the
 * client's address. Take it only from the header field that your platform sets. If your
 * configuration has `trailingSlash: true`, add `skipTrailingSlashRedirect: true`, because no path of
 * the service ends with a slash.
 */
import {
  createKeyAuthenticator,
  createMemoryLimiter,
  createMemoryOrderStore,
  createOrderService,
  PLANS,
} from 'store-orders';
import { fetchHandler } from 'store-orders/fetch';

const service = createOrderService({
  store: createMemoryOrderStore([{ id: 1, petId: 12, quantity: 2 }]),
  limiter: createMemoryLimiter(),
  authenticate: createKeyAuthenticator({ 'open-sesame': { id: 'customer-1', plan: PLANS.free } }),
});

const orders = fetchHandler(service, {
  compressLists: false,
  clientAddress: (request) => request.headers.get('X-Real-IP') ?? undefined,
});

export {
  orders as DELETE,
  orders as GET,
  orders as HEAD,
  orders as OPTIONS,
  orders as PATCH,
  orders as POST,
  orders as PUT,
};
