import { createServer } from 'node:http';
import { createMemoryLimiter, createOrderService, nodeHandler } from 'store-orders';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { announce } from './announce.js';
import { API_KEY } from './orders.js';
import { PLENTY } from './plenty.js';

// A server that lists the orders of a SQLite file.
const keys = new Map([[API_KEY, { id: 'bench', plan: PLENTY }]]);
const service = createOrderService({
  store: openSqliteOrderStore(process.argv[2] ?? ''),
  limiter: createMemoryLimiter(),
  authenticate: (apiKey) => keys.get(apiKey),
});
announce(createServer(nodeHandler(service)).listen(0, '127.0.0.1'));
