import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { announce, refilling } from './announce.js';
import { API_KEY, manyInputs, PENDING_IDS, SPENT_KEY, TEN } from './orders.js';
import { PER_DAY, PER_MINUTE } from './plenty.js';

// A server that runs the complete service as another directory has built it. It lists the ten
// orders of `TEN` or, with a count, so many orders, and cancels the orders of `PENDING_IDS`.
const [directory = '', count] = process.argv.slice(2);
const built: typeof import('store-orders') = await import(pathToFileURL(`${directory}/dist/index.js`).href);
const { createMemoryLimiter, createMemoryOrderStore, createOrderService, createPlan, nodeHandler } = built;
const { perDay, perMinute } = built;

const policies = [perMinute(PER_MINUTE), perDay(PER_DAY)];
const plan = createPlan({ name: 'plenty', policies });
const spent = createPlan({ name: 'spent', policies: [perDay(1)], ban: false });
const keys = new Map([
  [API_KEY, { id: 'bench', plan }],
  [SPENT_KEY, { id: 'spent', plan: spent }],
]);
const listed = createMemoryOrderStore(count === undefined ? TEN : manyInputs(Number(count)));
const pending = createMemoryOrderStore();
const service = createOrderService({
  store: { list: listed.list, cancel: pending.cancel },
  limiter: createMemoryLimiter(),
  authenticate: (apiKey) => keys.get(apiKey),
  addressPlan: createPlan({ name: 'address', policies, partition: 'address' }),
});
service.respond({ method: 'GET', url: '/v1/store/orders', rawHeaders: ['Authorization', `Bearer ${SPENT_KEY}`] });
const refill = () =>
  void pending.put(
    PENDING_IDS.map((id) => ({ id })),
    { replace: true },
  );
announce(createServer(nodeHandler(service)).listen(0, '127.0.0.1'), refilling(refill));
