import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { createMemoryLimiter, createMemoryOrderStore } from 'store-orders';
import { createOrderServer } from 'store-orders/server';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { issueKey, run, startServer, until } from '../support/program.js';
import { listen } from './support/order-server.js';

const KEYED = 'GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ours\r\n\r\n';
const KEYLESS = 'GET /v1/store/orders HTTP/1.1\r\nHost: x\r\n\r\n';

interface Client {
  readonly socket: Socket;
  /** Sends a request and returns the status of its response. */
  ask(request: string): Promise<string>;
  isClosed(): boolean;
}

/** Connects from `localAddress`, which may be any address of the loopback interface. */
async function connectFrom(port: number, localAddress = '127.0.0.1'): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  let isClosed = false;
  socket.on('error', () => {}).resume();
  socket.on('close', () => {
    isClosed = true;
  });
  await once(socket, 'connect');
  return {
    socket,
    isClosed: () => isClosed,
    async ask(request) {
      socket.write(request);
      const [data] = await once(socket, 'data');
      return String(data).slice(9, 12);
    },
  };
}

test('each address has its own limit of connections, and closing a connection makes room for another', async (t) => {
  const { port } = await listen(t, { maxConnectionsPerAddress: 3 });
  const ours = await Promise.all(Array.from({ length: 3 }, () => connectFrom(port)));
  const oneTooMany = await connectFrom(port);
  await until(() => oneTooMany.isClosed());
  for (const client of ours) assert.equal(await client.ask(KEYED), '200');
  assert.equal(await (await connectFrom(port, '127.0.0.2')).ask(KEYED), '200');
  ours[0]?.socket.destroy();
  await until(async () => {
    const next = await connectFrom(port);
    return (await Promise.race([next.ask(KEYED), once(next.socket, 'close')])) === '200';
  });
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

test('idle connections stay open for 15 s, or for 65 s behind a trusted proxy', async (t) => {
  for (const [trustProxy, seconds] of [
    [0, 15],
    [1, 65],
  ] as const) {
    const { server, port } = await listen(t, { trustProxy });
    assert.equal(server.keepAliveTimeout, seconds * 1_000);
    const response = await fetch(`http://127.0.0.1:${port}/healthz`);
    assert.equal(response.headers.get('keep-alive'), `timeout=${seconds}`);
  }
});

test('an invalid maxConnectionsPerAddress throws an error that names the option', () => {
  const parts = { store: createMemoryOrderStore(), limiter: createMemoryLimiter(), authenticate: () => undefined };
  for (const maxConnectionsPerAddress of [-1, 1.5, Number.NaN]) {
    assert.throws(
      () => createOrderServer({ ...parts, maxConnectionsPerAddress }),
      /^RangeError: maxConnectionsPerAddr/,
    );
  }
});

test('if file descriptors run short, the server closes the oldest connections without a valid key, and serves customers', async (t) => {
  const cwd = temporaryDirectory();
  const under = ['sh', '-c', 'ulimit -n 160; exec "$0" "$@"'];
  const server = await startServer(t, { cwd, under }, '--no-sample', '--max-connections-per-address', '0');
  const { key } = await issueKey(cwd, 'business');
  const port = Number(new URL(server.url).port);
  const keyed = KEYED.replace('ours', key);
  const customer = await connectFrom(port);
  assert.equal(await customer.ask(keyed), '200');

  // Of these clients without a valid key, a third send a request, a third send an unfinished
  // request head, and a third send nothing.
  const strangers: Client[] = [];
  for (let n = 0; n < 300; n++) {
    const stranger = await connectFrom(port, `127.0.0.${2 + (n % 3)}`);
    if (n % 3 === 0) stranger.socket.write(KEYLESS);
    if (n % 3 === 1) stranger.socket.write('GET /healthz HTTP/1.1\r\n');
    strangers.push(stranger);
  }
  // The server has room for about 100 connections, and keeps the newest.
  await until(() => strangers.filter((stranger) => !stranger.isClosed()).length <= 100);
  assert.ok(strangers.slice(0, 150).every((stranger) => stranger.isClosed()));
  assert.equal(await customer.ask(keyed), '200', "the customer's connection stays open");
  for (let n = 0; n < 10; n++)
    assert.equal(await (await connectFrom(port)).ask(keyed), '200', 'new customers are served');
});

test('STORE_ORDERS_MAX_CONNECTIONS_PER_ADDRESS limits the connections of an address', async (t) => {
  const cwd = temporaryDirectory();
  const env = { STORE_ORDERS_MAX_CONNECTIONS_PER_ADDRESS: '2' };
  const server = await startServer(t, { cwd, env }, '--no-sample');
  const port = Number(new URL(server.url).port);
  const clients = await Promise.all(Array.from({ length: 5 }, () => connectFrom(port)));
  await until(() => clients.filter((client) => client.isClosed()).length === 3);
  const { code, stderr } = await run(['--max-connections-per-address', 'many'], { cwd });
  assert.deepEqual([code, /--max-connections-per-address: expected a whole number/.test(stderr)], [2, true]);
});
