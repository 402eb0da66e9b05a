import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueKey, programIn, startServer } from '../program/support/program.js';
import { attack } from '../promises/attacks/support/under-attack.js';
import { until } from '../support/until.js';
import { type Client, connectFrom, KEYED, KEYLESS } from './support/client.js';

test('if file descriptors run short, the server closes the oldest connections without a valid key, and serves customers', async (t) => {
  const under = ['sh', '-c', 'ulimit -n 160; exec "$0" "$@"'];
  const server = await startServer(t, { under }, '--no-sample', '--max-connections-per-address', '0');
  const { key } = await issueKey(server.cwd, 'business');
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
  await until(() => strangers.slice(0, 150).every((stranger) => stranger.isClosed()));
  assert.equal(await customer.ask(keyed), '200', "the customer's connection stays open");
  for (let n = 0; n < 10; n++)
    assert.equal(await (await connectFrom(port)).ask(keyed), '200', 'new customers are served');
});

test('where a server may have fewer than 76 files open, serve ends with a sentence, and creates no file', async () => {
  const under = ['sh', '-c', 'ulimit -n 75; exec "$0" "$@"'];
  const { cwd, failure } = programIn({ under });
  assert.match(await failure('serve --port 0'), /only 75 files open.+; allow at least 76 \(ulimit -n/);
  assert.deepEqual(readdirSync(cwd), []);
});

test('STORE_ORDERS_MAX_CONNECTIONS_PER_ADDRESS limits the connections of an address', async (t) => {
  const env = { STORE_ORDERS_MAX_CONNECTIONS_PER_ADDRESS: '2' };
  const server = await startServer(t, { env }, '--no-sample');
  const port = Number(new URL(server.url).port);
  const clients = await Promise.all(Array.from({ length: 5 }, () => connectFrom(port)));
  await until(() => clients.filter((client) => client.isClosed()).length === 3);
});

test('beside 1,500 new connections a second from its own address, a customer that hesitates for 300 ms is served', async (t) => {
  const server = await startServer(t, {}, '--no-sample', '--log', 'events');
  const { key } = await issueKey(server.cwd, 'business');
  const url = new URL(server.url);
  const attacking = attack('newcomers', url, 8, 1_500, '127.0.0.1');
  const strangers = await connectFrom(Number(url.port));
  // This silent connection is closed as soon as the flood has taken its place, or after its 10 s if
  // the machine is too busy for such a flood.
  await until(() => strangers.isClosed(), 30_000);
  async function hesitate(): Promise<string> {
    const startMs = performance.now();
    const customer = await connectFrom(Number(url.port));
    await sleep(300);
    const tookMs = performance.now() - startMs;
    const status = await customer.ask(KEYED.replace('ours', key));
    // On a busy machine, this process may have hesitated for longer than a place lasts.
    return status !== '200' && tookMs > 450 ? hesitate() : status;
  }
  const statuses = await Promise.all(Array.from({ length: 36 }, (_, index) => sleep(100 * index).then(hesitate)));
  const served = statuses.filter((status) => status === '200').length;
  t.diagnostic(`${served} of 36; ${JSON.stringify(await attacking)}`);
  assert.ok(served >= 30, `${served} of 36`);
});
