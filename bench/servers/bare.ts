import { createServer } from 'node:http';
import { createMemoryLimiter, createOrderService } from 'store-orders';
import { API_KEY, tenOrders } from './orders.js';
import { PLENTY } from './plenty.js';

// The floor: the very bytes that the service answers, with nothing done for them.
const service = createOrderService({
  store: tenOrders(),
  limiter: createMemoryLimiter(),
  authenticate: () => ({ id: 'bench', plan: PLENTY }),
});
const rawHeaders = ['Authorization', `Bearer ${API_KEY}`];
const list = await service.respond({ method: 'GET', url: '/v1/store/orders', rawHeaders });
const missing = await service.respond({ method: 'DELETE', url: '/v1/store/orders/1', rawHeaders });

createServer((request, response) => {
  const reply = request.method === 'GET' ? list : missing;
  response.writeHead(reply.status, reply.headers);
  response.end(reply.body, 'latin1');
}).listen(0, '127.0.0.1', function (this: import('node:net').Server) {
  process.send?.(this.address());
});
