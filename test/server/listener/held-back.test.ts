import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { createPlan, perMinute } from 'store-orders';
import { listen } from './support/order-server.js';

const KEYLESS = 'GET /v1/store/orders HTTP/1.1\r\nHost: x\r\n\r\n';
const KEYED = 'GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ours\r\nConnection: close\r\n\r\n';

async function start(t: TestContext) {
  const plan = createPlan({ name: 'address', partition: 'address', policies: [perMinute(1)] });
  const { server, port } = await listen(t, { addressPlan: plan });
  /** Sends requests and returns the status of the last response. */
  const ask = async (requests: string, localAddress = '127.0.0.1') => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.write(requests);
    return /HTTP\/1\.1 (\d+) (?!.*HTTP\/1\.1)/s.exec(await text(socket))?.[1];
  };
  return { server, ask };
}

test('the server reads the new connections of an address over its limit one after another; other addresses do not wait', async (t) => {
  const { ask } = await start(t);
  assert.equal(await ask(KEYLESS.repeat(2)), '429');
  const order: string[] = [];
  const startMs = performance.now();
  const asked = Array.from({ length: 6 }, async () => {
    const status = await ask(KEYED);
    order.push('held back');
    return status;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(await ask(KEYED, '127.0.0.2'), '200');
  order.push('other');
  // Requests with a valid key are also served if they come from the limited address, but they wait.
  assert.deepEqual(
    await Promise.all(asked),
    Array.from({ length: 6 }, () => '200'),
  );
  assert.ok(performance.now() - startMs >= 5 * 200);
  assert.notEqual(order.at(-1), 'other');
});

test('addresses over their limit take turns, so that an address with many connections does not delay another address', async (t) => {
  const { server, ask } = await start(t);
  for (const address of ['127.0.0.2', '127.0.0.3']) assert.equal(await ask(KEYLESS.repeat(2), address), '429');
  const { port } = server.address() as AddressInfo;
  const crowd = Array.from({ length: 100 }, () => connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }));
  t.after(() => crowd.map((socket) => socket.destroy()));
  await Promise.all(crowd.map((socket) => once(socket, 'connect')));
  const startMs = performance.now();
  assert.equal(await ask(KEYED, '127.0.0.3'), '200');
  // In one queue with the 100 other connections, this request would wait for 20 s and get a 408.
  assert.ok(performance.now() - startMs < 5_000);
});

test('a draining server reads no requests from connections that wait because their address is over its limit', async (t) => {
  const { server, ask } = await start(t);
  assert.equal(await ask(KEYLESS.repeat(2)), '429');
  let requests = 0;
  server.on('request', () => requests++);
  const asked = Array.from({ length: 50 }, () => ask(KEYED).catch(() => undefined));
  await new Promise((resolve) => setTimeout(resolve, 100));
  await server.drain();
  await Promise.all(asked);
  assert.ok(requests <= 5, `${requests}`);
});
