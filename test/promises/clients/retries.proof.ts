import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { createMemoryOrderStore, createOrderService, createPlan, nodeHandler } from 'store-orders';
import { createStatefulLimiter } from '../../../dist/limits/memory/limiter.js';
import { listening } from '../../http/mounts/support/mount.js';
import { withoutHosts } from '../../support/installed.js';

/**
 * The window is only two seconds long, because clients wait for its end with real timers. Bans have
 * their default settings.
 */
const PLAN = createPlan({ name: 'quick', policies: [{ name: 'moment', quota: 6, windowMs: 2_000 }] });

const CLIENTS = withoutHosts ? {} : (await import('./support/retrying-clients.js')).CLIENTS;

/**
 * Creates a client, and a service that holds the first `atOnce` requests until all of them have
 * arrived, however slow the machine is.
 */
async function open(t: TestContext, create: (typeof CLIENTS)[string], atOnce = 1) {
  const store = createMemoryOrderStore(Array.from({ length: 10 }, (_, id) => ({ id })));
  const limiter = createStatefulLimiter({});
  const statuses: number[] = [];
  const handle = nodeHandler(
    createOrderService({ store, limiter, authenticate: () => ({ id: 'client', plan: PLAN }) }),
  );
  const waiting: (() => void)[] = [];
  let arrived = 0;
  let isNextRefused = false;
  function exhaust(): void {
    limiter.take('client', PLAN, limiter.peek('client', PLAN, 0).inForce.remaining);
    // A timer of the client may fire a millisecond early by the limiter's clock.
    const startMs = performance.now();
    while (performance.now() - startMs < 5);
  }
  const { origin, close } = await listening(
    createServer((incoming, response) => {
      response.once('finish', () => statuses.push(response.statusCode));
      arrived++;
      if (isNextRefused) exhaust();
      isNextRefused = false;
      waiting.push(() => handle(incoming, response));
      if (arrived >= atOnce) for (const answer of waiting.splice(0)) answer();
    }),
  );
  const client = create();
  t.after(async () => {
    await client.close?.();
    await close();
  });
  return {
    client,
    url: `${origin}/v1/store/orders`,
    statuses,
    /** Exhausts the quota when the next request arrives, so that its window has not ended by then. */
    refuseNext() {
      isNextRefused = true;
    },
    ban: () => limiter.inspect('client')?.ban,
  };
}

suite('with default settings', { concurrency: true, skip: withoutHosts }, () => {
  for (const [name, create] of Object.entries(CLIENTS)) {
    test(`${name} gets a 429, waits and succeeds`, async (t) => {
      const { client, url, statuses, refuseNext, ban } = await open(t, create);
      refuseNext();
      assert.equal(await client.send('GET', url), 200);
      refuseNext();
      assert.equal(await client.send('DELETE', `${url}/1`), 204);
      assert.deepEqual(statuses, [429, 200, 429, 204], 'the client repeats each refused request only once');
      assert.equal(ban(), undefined, 'the client has no refusals that count towards a ban');
    });

    test(`if ten concurrent requests of ${name} exceed the limit, all succeed in the end, without a ban`, async (t) => {
      const { client, url, statuses, ban } = await open(t, create, 10);
      const ids = ['0', '1', '2', '3', '4'];
      const answers = ids.flatMap((id) => [client.send('GET', url), client.send('DELETE', `${url}/${id}`)]);
      assert.deepEqual(await Promise.all(answers), Array(5).fill([200, 204]).flat());
      assert.ok(statuses.includes(429), 'some requests got a 429');
      assert.equal(ban(), undefined);
    });
  }
});
