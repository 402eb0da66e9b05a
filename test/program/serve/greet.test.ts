import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopback } from '../../../dist/program/serve/base-url.js';
import { SAMPLE_ORDERS } from '../../../dist/program/serve/sample-orders.js';
import { startServer } from '../support/program.js';

test('no demo keys are created if other machines can reach the server', async (t) => {
  const server = await startServer(t, {}, '--host', '0.0.0.0');
  assert.equal(
    server.stderr(),
    'Created store-orders.db with 10 sample orders.\n' +
      'store-orders.db has no API keys. Create one: store-orders keys create --plan free\n',
  );
});

test('other machines cannot reach an address of the loopback interface', () => {
  const loopback = ['127.0.0.1', '127.0.0.2', '::1'];
  assert.deepEqual([...loopback, '0.0.0.0', '::', '192.0.2.127', 'fe80::1'].filter(isLoopback), loopback);
});

test('the DELETE sample of the page cancels a sample order, whose id no double can represent', async (t) => {
  const server = await startServer(t);
  const page = await (await fetch(new URL('/docs', server.url))).text();
  const [, id = ''] = /-X DELETE[\s\S]*?\/store\/orders\/(\d+)/.exec(page.replaceAll(/<[^>]*>/g, '')) ?? [];
  assert.equal(SAMPLE_ORDERS.find((order) => `${order.id}` === id)?.status, 'pending');
  assert.notEqual(`${Number(id)}`, id);
});
