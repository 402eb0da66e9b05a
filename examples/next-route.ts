/**
 * A route handler of Next: this file is `app/v1/store/orders/[[...id]]/route.ts`. Next says nothing of the client's address; take it
 * from the header that your platform sets, and only from that.
 */
import { fetchHandler } from 'store-orders/fetch';
import { service } from './orders.ts';

const orders = fetchHandler(service, { clientAddress: (request) => request.headers.get('X-Real-IP') ?? undefined });

export {
  orders as DELETE,
  orders as GET,
  orders as HEAD,
  orders as OPTIONS,
  orders as PATCH,
  orders as POST,
  orders as PUT,
};
