import { AsyncLocalStorage } from 'node:async_hooks';
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
// the lists that were cut off, how many requests were served, in all and beside the last one of each
// key, how many lists were made at once, in all and for one key, and its memory.
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

/** The number of replies that were not a 503. */
let served = 0;
/** For each key, how many requests were served between the arrival of its last one and the reply. */
const beside: Record<string, number> = {};
let cut = 0;
/** For each request whose list is being made, its key. */
const making = new Map<object, string>();
const most = { atOnce: 0, ofOneKey: 0 };
const requests = new AsyncLocalStorage<{ readonly key: string; readonly servedBefore: number }>();

function noteList(): ListedOrders {
  const request = requests.getStore() ?? { key: '', servedBefore: served };
  making.set(request, request.key);
  // Until then, the reply whose turn has ended is published.
  setImmediate(() => {
    const keys = [...making.values()];
    most.atOnce = Math.max(most.atOnce, keys.length);
    most.ofOneKey = Math.max(most.ofOneKey, keys.filter((key) => key === request.key).length);
  });
  return LISTS[kind]?.() ?? [];
}

const service = createOrderService({
  store: { list: noteList, cancel: () => 'not_found' },
  limiter: createMemoryLimiter(),
  authenticate: (apiKey) => ({ id: apiKey, plan: PLANS.business }),
  onReply: ({ keyId = '', status, isCutOff }) => {
    const request = requests.getStore();
    making.delete(request ?? {});
    beside[keyId] = served - (request?.servedBefore ?? 0);
    if (isCutOff) cut++;
    else if (status !== 503) served++;
  },
});

const handle = nodeHandler(service);
const server = createServer((request, response) =>
  requests.run({ key: String(request.headers.authorization), servedBefore: served }, () => handle(request, response)),
);
const port = await listenOnFreePort(server);
process.on('message', (message) => {
  if (message === 'add') return rows.push({ id: BigInt(rows.length) });
  // On a busy machine this takes so long that a test that asks often would stop the lists.
  if (message === 'report') {
    collectGarbage();
    collectGarbage();
  }
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  return process.send?.({ served, beside, cut, most, timers, ...process.memoryUsage() });
});
process.send?.({ port });
