import { createServer } from 'node:http';
import {
  createMemoryLimiter,
  createOrderService,
  type ListedOrders,
  nodeHandler,
  type Order,
  PLANS,
} from 'store-orders';
import { listenOnFreePort } from '../../../support/listen.js';
import { collectGarbage } from '../../../support/memory.js';

// A host with many orders, for which every key is valid. When its parent process asks, it reports
// the lists that were cut off, the keys whose lists were made, and its memory.
const [kind = '', count = ''] = process.argv.slice(2);
const rows: Order[] = Array.from({ length: Number(count) }, (_, id) => ({
  id: BigInt(id),
  petId: 12n,
  quantity: id % 1_000,
  shipDate: '2026-07-16T00:00:00Z',
  complete: id % 2 === 0,
}));
let lowestId = 0n;
let lists = 0;

const LISTS: Readonly<Record<string, () => ListedOrders>> = {
  'without a version': () => rows,
  'to which an order is appended': () => {
    rows.push({ id: BigInt(rows.length) });
    return Object.assign([...rows], { version: ++lists });
  },
  'in front of which an order is put': () => {
    rows.unshift({ id: --lowestId });
    return Object.assign([...rows], { version: ++lists });
  },
};

const served: string[] = [];
let cut = 0;
const service = createOrderService({
  store: { list: () => LISTS[kind]?.() ?? [], cancel: () => 'not_found' },
  limiter: createMemoryLimiter(),
  authenticate: (apiKey) => ({ id: apiKey, plan: PLANS.business }),
  onReply: ({ keyId = '', error }) => {
    if (error === undefined) served.push(keyId);
    else cut++;
  },
});

const port = await listenOnFreePort(createServer(nodeHandler(service)));
process.on('message', () => {
  collectGarbage();
  collectGarbage();
  process.send?.({ served, cut, arrayBuffers: process.memoryUsage().arrayBuffers });
});
process.send?.({ port });
