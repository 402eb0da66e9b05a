import { createServer } from 'node:http';
import { createMemoryLimiter, createOrderService, nodeHandler } from 'store-orders';
import { announce, refilling } from './announce.js';
import { API_KEY, tenListedAndPending } from './orders.js';
import { PLENTY } from './plenty.js';

// A server that runs the complete service: it checks the API key, counts the request in a minute
// window and a day window, finds the order, and sends every header field.
const { store, refill } = tenListedAndPending();
const keys = new Map([[API_KEY, { id: 'bench', plan: PLENTY }]]);
const service = createOrderService({
  store,
  limiter: createMemoryLimiter(),
  authenticate: (apiKey) => keys.get(apiKey),
});
announce(createServer(nodeHandler(service)).listen(0, '127.0.0.1'), refilling(refill));
