import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { programIn, startServer } from '../support/program.js';

test('no demo keys are created if other machines can reach the server', async (t) => {
  const { cwd, json, output } = programIn();
  const server = await startServer(t, { cwd }, '--host', '0.0.0.0');
  assert.equal(
    server.stderr(),
    'Created store-orders.db with 10 sample orders.\n' +
      'store-orders.db has no API keys. Create one: store-orders keys create --plan free\n',
  );
  assert.deepEqual(await json('keys list'), []);
  assert.equal((await output('orders export')).split('\n').length, 11);
});

test('demo keys are created if other machines cannot reach the server', async (t) => {
  const hosts = ['127.0.0.1', '127.0.0.2', 'localhost'];
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address));
  if (addresses.includes('::1')) hosts.push('::1');
  for (const host of hosts) {
    const server = await startServer(t, { cwd: temporaryDirectory() }, '--db', ':memory:', '--host', host);
    assert.equal(server.stderr().match(/so_\w{38}(?=\n)/g)?.length, 3, host);
  }
});
