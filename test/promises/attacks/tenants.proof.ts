import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Agent, createServer, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate as pause, setTimeout as sleep } from 'node:timers/promises';
import { createMemoryLimiter, createOrderService, type ListedOrders, nodeHandler, PLANS } from 'store-orders';
import { serializeOrder } from 'store-orders/store';
import { listenOnFreePort } from '../../support/listen.js';

const TENANTS = 8;
const KEYS = 40;
const LISTS_OF_KEY = 10;
const ORDERS = 2_000;
/** On a busy machine a customer may wait for 5 s. Then it gets a 503, and asks again. */
const LATE_MS = 4_900;

const ordersOf = (tenant: number, revision: number) =>
  Array.from({ length: ORDERS }, (_, id) => ({ id: BigInt(id), petId: BigInt(tenant), quantity: revision }));

const LISTS: Readonly<Record<string, (tenant: number, revision: number) => ListedOrders>> = {
  'pages with a version': (tenant, revision) => ({
    version: `${tenant} ${revision}`,
    async *[Symbol.asyncIterator]() {
      const orders = ordersOf(tenant, revision);
      for (let at = 0; at < ORDERS; at += 500) {
        yield orders
          .slice(at, at + 500)
          .map(serializeOrder)
          .join(',');
        await pause();
      }
    },
  }),
  'arrays with a version': (tenant, revision) =>
    Object.assign(ordersOf(tenant, revision), { version: `${tenant} ${revision}` }),
  'arrays without a version': ordersOf,
};

for (const [kind, list] of Object.entries(LISTS)) {
  test(`while the lists of tenants change, no customer gets that of another tenant, or one older than the request (${kind})`, async (t) => {
    const tenants = new AsyncLocalStorage<number>();
    const revisions = Array.from({ length: TENANTS }, () => 0);
    const revisionOf = (tenant: number) => revisions[tenant] ?? 0;
    const handle = nodeHandler(
      createOrderService({
        store: {
          list() {
            const tenant = tenants.getStore() ?? assert.fail('a list for nobody');
            return list(tenant, revisionOf(tenant));
          },
          cancel: () => 'not_found',
        },
        limiter: createMemoryLimiter(),
        authenticate: (apiKey) => ({ id: apiKey, plan: PLANS.business }),
      }),
    );
    const server = createServer((request, response) =>
      tenants.run(Number(request.headers['x-tenant']), () => handle(request, response)),
    );
    const port = await listenOnFreePort(server);
    const agent = new Agent({ keepAlive: true });
    t.after(() => {
      agent.destroy();
      server.close();
    });

    let refused = 0;
    async function ask(key: number): Promise<string> {
      const tenant = key % TENANTS;
      const [newest, startMs] = [revisionOf(tenant), performance.now()];
      const headers = { authorization: `Bearer ${key}`, 'x-tenant': tenant };
      const orders = await new Promise<{ petId: number; quantity: number }[]>((resolve, reject) => {
        request({ port, path: '/v1/store/orders', agent, headers }, (response) =>
          json(response).then((value) => resolve(Object(value)), reject),
        )
          .on('error', reject)
          .end();
      });
      if (Object(orders).code === 'service_unavailable' && performance.now() - startMs >= LATE_MS) {
        refused++;
        return ask(key);
      }
      const [first] = orders;
      if (orders.length !== ORDERS || first === undefined) return 'part';
      if (orders.some(({ petId, quantity }) => petId !== first.petId || quantity !== first.quantity)) return 'mixed';
      if (first.petId !== tenant) return 'of another tenant';
      return first.quantity < newest ? 'older' : 'right';
    }

    const got: Record<string, number> = {};
    let isOver = false;
    t.after(() => {
      isOver = true;
    });
    async function change(): Promise<void> {
      while (!isOver) {
        for (const tenant of revisions.keys()) revisions[tenant] = revisionOf(tenant) + 1;
        await sleep(20);
      }
    }
    async function customer(key: number): Promise<void> {
      for (let n = 0; n < LISTS_OF_KEY; n++) {
        const what = await ask(key);
        got[what] = (got[what] ?? 0) + 1;
      }
    }
    const changing = change();
    await Promise.all(Array.from({ length: KEYS }, (_, key) => customer(key)));
    isOver = true;
    await changing;
    t.diagnostic(`${JSON.stringify(got)} in ${revisions[0]} changes, ${refused} times a 503`);
    assert.deepEqual(got, { right: KEYS * LISTS_OF_KEY });
    assert.ok(refused <= KEYS * LISTS_OF_KEY, `${refused} times a 503`);
  });
}
