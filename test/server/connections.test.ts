import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { mock, test } from 'node:test';

import { createPlan, type MaybePromise, PLANS, perMinute } from 'store-orders';
import { fakeStore } from '../support/fake-store.js';
import { createDeferred, until } from '../support/until.js';

import { type Client, connectFrom, KEYED, KEYLESS } from './support/client.js';
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
  assert.equal(await (await connectFrom(port, '127.0.0.2')).ask(KEYED), '200');
  // A customer whose newest request had no valid key is keyless until its next request.
  assert.equal(await first.ask(KEYLESS), '401');
  assert.equal(await (await connectFrom(port)).ask(KEYED), '200');
  await until(() => first.isClosed());
});

test('the oldest connection gives way that has no key or whose key was refused, whichever of the two it is', async (t) => {
  const plan = createPlan({ name: 'once', policies: [perMinute(1)] });
  const authenticate = (apiKey: string) => ({ id: apiKey, plan: apiKey === 'ours' ? plan : PLANS.business });
  const { port } = await listen(t, { maxConnectionsPerAddress: 4, authenticate });
  const customer = await connectFrom(port);
  assert.equal(await customer.ask(KEYED.replace('ours', 'other')), '200');
  const [refused, silent, refusedToo] = [await connectFrom(port), await connectFrom(port), await connectFrom(port)];
  assert.equal(await refused.ask(KEYED), '200');
  for (const { ask } of [refused, refusedToo]) assert.equal(await ask(KEYED), '429');
  for (const expected of [refused, silent, refusedToo]) {
    assert.equal(expected.isClosed(), false);
    assert.equal(await (await connectFrom(port)).ask(KEYED.replace('ours', 'other')), '200');
    await until(() => expected.isClosed());
  }
  assert.equal(customer.isClosed(), false);
});

test('if all connections have admitted keys, the longest unused of the key that has the most gives way', async (t) => {
  const authenticate = (apiKey: string) => ({ id: apiKey, plan: PLANS.business });
  const { port } = await listen(t, { maxConnectionsPerAddress: 5, authenticate });
  const clientOf = async (key: string) => {
    const client = await connectFrom(port);
    const ask = () => client.ask(KEYED.replace('ours', key));
    assert.equal(await ask(), '200');
    return { ...client, ask };
  };
  const few = [await clientOf('few'), await clientOf('few')];
  const [first, second, third] = [await clientOf('many'), await clientOf('many'), await clientOf('many')];
  assert.equal(await first.ask(), '200');
  const newcomer = await clientOf('new');
  await until(() => second.isClosed());
  for (const client of [...few, first, third, newcomer]) assert.equal(await client.ask(), '200');
});

test('a quarter of the connections is left to newcomers, also beside keys that hold all others', async (t) => {
  const { port } = await listen(t, { maxConnectionsPerAddress: 8 });
  const customers = await Promise.all(Array.from({ length: 8 }, () => connectFrom(port)));
  for (const customer of customers) assert.equal(await customer.ask(KEYED), '200');
  const [first, second, third] = [await connectFrom(port), await connectFrom(port), await connectFrom(port)];
  await until(() => first.isClosed());
  for (const newcomer of [second, third]) assert.equal(await newcomer.ask(KEYED), '200');
  assert.deepEqual(
    customers.map((customer) => customer.isClosed()),
    customers.map((_, index) => index < 2),
  );
});

test('of lists that are being sent, the longest of the key that has the most gives way, but not its only one', async (t) => {
  const authenticate = (apiKey: string) => ({ id: apiKey, plan: PLANS.business });
  const responses: ServerResponse[] = [];
  const { port } = await listen(t, { maxConnectionsPerAddress: 4, authenticate }, (server) => {
    let opened = 0;
    server.on('connection', (socket) => opened++ < 4 && Object.assign(socket, { _write() {}, _writev() {} }));
    server.on('request', (_, response) => responses.push(response));
  });
  const readers: Client[] = [];
  for (const key of ['few', 'many', 'many', 'other']) {
    const reader = await connectFrom(port);
    reader.socket.write(KEYED.replace('ours', key));
    readers.push(reader);
    await until(() => responses[readers.length - 1]?.writableEnded === true);
  }
  const newcomers = [await connectFrom(port), await connectFrom(port)];
  assert.equal(await newcomers[1]?.ask(KEYED), '200');
  await until(() => [readers[1], newcomers[0]].every((client) => client?.isClosed()));
  const areClosed = [...readers, ...newcomers].map((client) => client.isClosed());
  assert.deepEqual(areClosed, [false, true, false, false, true, false]);
});

test('a key that asks for a long list on every connection leaves room for a newcomer', async (t) => {
  const orders = Array.from({ length: 600 }, (_, id) => ({ id: BigInt(id) }));
  const { promise, resolve } = createDeferred<typeof orders>();
  let listed: MaybePromise<typeof orders> = orders;
  const { port } = await listen(t, { maxConnectionsPerAddress: 60, store: fakeStore({ list: () => listed }) });
  const clients = await Promise.all(Array.from({ length: 60 }, () => connectFrom(port)));
  assert.equal(await clients[0]?.ask(KEYED), '200');
  listed = promise;
  const statuses: string[] = [];
  const served = clients.map(async (client) => statuses.push(await client.ask(KEYED)));
  // One list is being made, and 32 requests wait.
  await until(() => statuses.length === 27);
  const newcomer = await connectFrom(port);
  assert.equal(await newcomer.ask('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'), '200');
  assert.deepEqual(statuses, Array(27).fill('503'));
  resolve(orders);
  await Promise.all(served);
  assert.deepEqual(statuses.slice(27), Array(33).fill('200'));
});

test('a connection whose request waits for a reply never gives way, whatever its earlier replies were', async (t) => {
  const lookUp = createDeferred();
  let asked = 0;
  const authenticate = async (apiKey: string) => {
    asked++;
    await lookUp.promise;
    return apiKey === 'ours' ? US : undefined;
  };
  const { port } = await listen(t, { maxConnectionsPerAddress: 3, authenticate });
  const customers = [await connectFrom(port), await connectFrom(port)];
  assert.equal(await customers[0]?.ask(KEYLESS), '401');
  const statuses = customers.map((customer) => customer.ask(KEYED));
  await until(() => asked === 2);
  const idle = await connectFrom(port);
  const last = await connectFrom(port);
  await until(() => idle.isClosed());
  const status = last.ask(KEYED);
  await until(() => asked === 3);
  const oneTooMany = await connectFrom(port);
  await until(() => oneTooMany.isClosed());
  lookUp.resolve();
  assert.deepEqual(await Promise.all([...statuses, status]), ['200', '200', '200']);
});

test('a stranger that does not take its response gives way', async (t) => {
  const responses: ServerResponse[] = [];
  const { port } = await listen(t, { maxConnectionsPerAddress: 2 }, (server) => {
    // Nothing leaves the first connection, as if its client did not read.
    server.once('connection', (socket) => Object.assign(socket, { _write() {}, _writev() {} }));
    server.on('request', (_, response) => responses.push(response));
  });
  const stranger = await connectFrom(port);
  stranger.socket.write(KEYLESS);
  await until(() => responses[0]?.writableEnded === true);
  assert.equal(responses[0]?.writableFinished, false);
  for (const customer of [await connectFrom(port), await connectFrom(port)])
    assert.equal(await customer.ask(KEYED), '200');
  await until(() => stranger.isClosed());
});

test('a customer whose key cannot be looked up keeps its place before strangers', async (t) => {
  let isDown = false;
  const authenticate = (apiKey: string) => {
    if (isDown) throw new Error('down');
    return apiKey === 'ours' ? US : undefined;
  };
  const { port } = await listen(t, { maxConnectionsPerAddress: 2, authenticate });
  const customer = await connectFrom(port);
  assert.equal(await customer.ask(KEYED), '200');
  isDown = true;
  assert.equal(await customer.ask(KEYED), '503');
  const stranger = await connectFrom(port);
  const newcomer = await connectFrom(port);
  await until(() => stranger.isClosed());
  assert.deepEqual([customer.isClosed(), newcomer.isClosed()], [false, false]);
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

test('idle connections stay open for 15 s, for 910 s behind a trusted proxy, or as long as the host sets, and stalled ones for 120 s', async (t) => {
  const start = t.mock.method(globalThis, 'setInterval');
  for (const [trustProxy, seconds, set] of [
    [0, 15, {}],
    [1, 910, {}],
    [1, 1_200, { keepAliveTimeout: 1_200_000 }],
  ] as const) {
    const { server, origin } = await listen(t, { trustProxy }, (server) => Object.assign(server, set));
    assert.deepEqual([server.keepAliveTimeout, server.timeout], [seconds * 1_000, 120_000]);
    assert.equal((await fetch(`${origin}/healthz`)).headers.get('keep-alive'), `timeout=${seconds}`);
    const [sweep, intervalMs] = start.mock.calls.at(-1)?.arguments ?? [];
    // A request that began just before may still be arriving for 10 s.
    assert.deepEqual([sweep?.name, intervalMs], ['sweep', seconds * 1_000 + 10_000]);
  }
});
