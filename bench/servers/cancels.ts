import { createServer } from 'node:http';
import { createMemoryLimiter, createOrderService, nodeHandler } from 'store-orders';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { fakeStore } from '../../test/support/fake-store.js';
import { cancelOneByOne } from '../orders/one-by-one.js';
import { announce } from './announce.js';
import { API_KEY, tenOrders } from './orders.js';
import { PLENTY } from './plenty.js';

// A server with durable cancels, which are committed together or one by one. The list has only ten
// orders, which are in memory, so the time of a list shows how long cancels delay other requests.
const [way, file = ''] = process.argv.slice(2);
const { list } = tenOrders();
const cancel = way === 'together' ? openSqliteOrderStore(file).cancel : cancelOneByOne(openSqliteDatabase(file));

const service = createOrderService({
  store: fakeStore({ list, cancel }),
  limiter: createMemoryLimiter(),
  authenticate: (apiKey) => (apiKey === API_KEY ? { id: 'bench', plan: PLENTY } : undefined),
});

announce(createServer(nodeHandler(service)).listen(0, '127.0.0.1'));
