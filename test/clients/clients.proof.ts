import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { suite, test } from 'node:test';
import { createMemoryOrderStore, createOrderService, createPlan, nodeHandler } from 'store-orders';
import { createStatefulLimiter } from '../../dist/limits/memory/limiter.js';
import { listening } from '../http/mounts/support/mount.js';
import { withoutHosts } from '../support/installed.js';

/**
 * The window is only two seconds long, because clients wait for its end with real timers. Bans have
 * their default settings.
 */
const PLAN = createPlan({ name: 'quick', policies: [{ name: 'moment', quota: 6, windowMs: 2_000 }] });

const CLIENTS = withoutHosts ? {} : (await import('./support/retrying-clients.js')).CLIENTS;

/**
 * Starts a service that holds the first `atOnce` requests until all of them have arrived, however
 * slow the machine is.
 */
async function open(atOnce = 1) {
  const store = createMemoryOrderStore(Array.from({ length: 10 }, (_, id) => ({ id })));
  const limiter = createStatefulLimiter({});
  const statuses: number[] = [];
  const service = createOrderService({ store, limiter, authenticate: () => ({ id: 'client', plan: PLAN }) });
  const handle = nodeHandler(service);
  const waiting: (() => void)[] = [];
  let arrived = 0;
  const { origin, close } = await listening(
    createServer((incoming, response) => {
      response.once('finish', () => statuses.push(response.statusCode));
      arrived++;
      waiting.push(() => handle(incoming, response));
      if (arrived >= atOnce) for (const answer of waiting.splice(0)) answer();
    }),
  );
  const exhaust = () => limiter.take('client', PLAN, limiter.peek('client', PLAN, 0).inForce.remaining);
  return { url: `${origin}/v1/store/orders`, limiter, statuses, exhaust, close };
}

suite('with default settings', { concurrency: true, skip: withoutHosts }, () => {
  for (const [name, create] of Object.entries(CLIENTS)) {
    test(`${name} gets a 429, waits and succeeds`, async (t) => {
      const { url, statuses, exhaust, limiter, close } = await open();
      const client = create();
      t.after(async () => {
        await client.close?.();
        await close();
      });
      exhaust();
      assert.equal(await client.get(url), 200);
      assert.deepEqual(statuses, [429, 200]);
      exhaust();
      assert.equal(await client.delete(`${url}/1`), 204);
      assert.deepEqual(statuses, [429, 200, 429, 204], 'the client repeats each refused request only once');
      assert.equal(limiter.inspect('client')?.ban, undefined, 'the client has no refusals that count towards a ban');
    });

    test(`if ten concurrent requests of ${name} exceed the limit, all succeed in the end, without a ban`, async (t) => {
      const { url, statuses, limiter, close } = await open(10);
      const client = create();
      t.after(async () => {
        await client.close?.();
        await close();
      });
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, id) => (id % 2 === 0 ? client.get(url) : client.delete(`${url}/${id}`))),
      );
      assert.deepEqual(
        answers,
        Array.from({ length: 10 }, (_, id) => (id % 2 === 0 ? 200 : 204)),
      );
      assert.ok(statuses.includes(429), 'some requests got a 429');
      assert.equal(limiter.inspect('client')?.ban, undefined);
    });
  }
});
