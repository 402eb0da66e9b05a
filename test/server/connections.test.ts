import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { PLANS } from 'store-orders';
import { createDeferred, until } from '../support/until.js';
import { connectFrom, KEYED, KEYLESS } from './support/client.js';
import { listen } from './support/order-server.js';

const US = { id: 'us', plan: PLANS.business };

test('at its limit of connections, the oldest keyless connection of an address gives way to a new one', async (t) => {
  const { port } = await listen(t, { maxConnectionsPerAddress: 3 });
  const customer = await connectFrom(port);
  assert.equal(await customer.ask(KEYED), '200');
  const [silent, stranger] = [await connectFrom(port), await connectFrom(port)];
  assert.equal(await stranger.ask(KEYLESS), '401');
  const [first, second] = await Promise.all([connectFrom(port), connectFrom(port)]);
  await until(() => silent.isClosed() && stranger.isClosed());
  for (const client of [customer, first, second]) assert.equal(await client.ask(KEYED), '200');
  const oneTooMany = await connectFrom(port);
  await until(() => oneTooMany.isClosed());
  for (const client of [customer, first, second]) assert.equal(await client.ask(KEYED), '200');
  assert.equal(await (await connectFrom(port, '127.0.0.2')).ask(KEYED), '200');
  // A customer whose newest request had no valid key is keyless until its next request.
  assert.equal(await first.ask(KEYLESS), '401');
  assert.equal(await (await connectFrom(port)).ask(KEYED), '200');
  await until(() => first.isClosed());
  second.socket.destroy();
  await until(async () => (await (await connectFrom(port)).ask(KEYED)) === '200');
});

test('a customer is not keyless while its key is looked up, nor if the look-up fails, nor if the process has not seen its key before', async (t) => {
  const lookUp = createDeferred();
  let asked = 0;
  let isDown = false;
  let isKnown = false;
  const authenticate = async (apiKey: string) => {
    asked++;
    await lookUp.promise;
    if (isDown) throw new Error('down');
    isKnown = apiKey === 'ours';
    return isKnown ? US : undefined;
  };
  const authenticateKnown = (apiKey: string) => (isKnown ? authenticate(apiKey) : undefined);
  const { port } = await listen(t, { maxConnectionsPerAddress: 2, authenticateKnown, authenticate });
  const customers = [await connectFrom(port), await connectFrom(port)];
  const statuses = customers.map((customer) => customer.ask(KEYED));
  await until(() => asked === 2);
  const duringLookUp = await connectFrom(port);
  await until(() => duringLookUp.isClosed());
  lookUp.resolve();
  assert.deepEqual(await Promise.all(statuses), ['200', '200']);
  isDown = true;
  assert.equal(await customers[0]?.ask(KEYED), '503');
  const afterLookUp = await connectFrom(port);
  await until(() => afterLookUp.isClosed());
  assert.ok(customers.every((customer) => !customer.isClosed()));
});

test('a connection that sends nothing but line breaks after a response is closed, but not while a response is pending', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.after(() => mock.timers.reset());
  const { promise: lookedUp, resolve: lookUp } = createDeferred<typeof US>();
  const { port } = await listen(t, { authenticate: (apiKey) => (apiKey === 'ours' ? US : lookedUp) });
  const pending = (await connectFrom(port)).ask(KEYED.replace('ours', 'slow'));
  const [idle, busy] = [await connectFrom(port), await connectFrom(port)];
  for (const { ask } of [idle, busy]) assert.equal(await ask(KEYLESS), '401');
  // 15 s of idle time, and 10 s in which a request may arrive.
  mock.timers.tick(25_000);
  idle.socket.write('\r\n');
  assert.equal(await busy.ask(KEYED), '200');
  assert.equal(idle.isClosed(), false);
  mock.timers.tick(25_000);
  await until(() => idle.isClosed());
  assert.equal(await busy.ask(KEYED), '200');
  lookUp(US);
  assert.equal(await pending, '200');
});

test('an address may open any number of connections if the server trusts a proxy, or if the limit is 0', async (t) => {
  for (const options of [{ maxConnectionsPerAddress: 2, trustProxy: 1 }, { maxConnectionsPerAddress: 0 }]) {
    const { port } = await listen(t, options);
    const clients = await Promise.all(Array.from({ length: 300 }, () => connectFrom(port)));
    const statuses = await Promise.all(clients.map((client) => client.ask(KEYED)));
    assert.ok(statuses.every((status) => status === '200'));
    for (const { socket } of clients) socket.destroy();
  }
});

test('idle connections stay open for 15 s, or for 65 s behind a trusted proxy, and stalled ones for 120 s', async (t) => {
  for (const [trustProxy, seconds] of [
    [0, 15],
    [1, 65],
  ] as const) {
    const { server, origin } = await listen(t, { trustProxy });
    assert.deepEqual([server.keepAliveTimeout, server.timeout], [seconds * 1_000, 120_000]);
    assert.equal((await fetch(`${origin}/healthz`)).headers.get('keep-alive'), `timeout=${seconds}`);
  }
});
