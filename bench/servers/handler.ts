import { createServer } from 'node:http';
import { createMemoryLimiter, createOrderService, nodeHandler } from 'store-orders';
import { API_KEY, tenOrders } from './orders.js';
import { PLENTY } from './plenty.js';

// The whole job: credential, two windows, order, every header.
const keys = new Map([[API_KEY, { id: 'bench', plan: PLENTY }]]);
const service = createOrderService({
  store: tenOrders(),
  limiter: createMemoryLimiter(),
  authenticate: (apiKey) => keys.get(apiKey),
});

createServer(nodeHandler(service)).listen(0, '127.0.0.1', function (this: import('node:net').Server) {
  process.send?.(this.address());
});
