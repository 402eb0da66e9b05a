import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { createMemoryLimiter } from 'store-orders';
import { createOrderServer, openPostgresStorage } from 'store-orders/server';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { missingEngine, startEngine } from '../../databases/postgres/support/engine.js';
import { createListScan } from '../../support/list-scan.js';

const ORDERS = 300_000;
const SLOW = 20;
const SERVED_MS = 2_000;

describe(`${SLOW} slow readers that list ${ORDERS} orders with one API key`, { skip: missingEngine }, async () => {
  const engine = await startEngine();
  const url = await createDatabase(engine);
  const open = await openPostgresStorage(url, { create: true, impatient: true });
  assert.ok(open.ok);
  const { data } = open;
  const admin = new pg.Client(url);
  await admin.connect();
  await admin.query(`INSERT INTO store_orders SELECT i, i % 90, 1, '2026-07-16T00:00:00Z', false, 'pending'
    FROM generate_series(1, ${ORDERS}) AS i`);
  await admin.query('VACUUM ANALYZE store_orders');
  await admin.end();
  const server = createOrderServer({
    store: data.orders,
    limiter: createMemoryLimiter(),
    authenticate: data.keys.authenticate,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent();
  after(async () => {
    agent.destroy();
    await server.drain(0).catch(() => {});
    await data.close();
  });
  const { port } = server.address() as AddressInfo;
  const slow = await data.keys.create({ name: 'free' });
  const honest = await data.keys.create({ name: 'free' });

  function request(apiKey: string) {
    const headers = { authorization: `Bearer ${apiKey}` };
    return get({ port, path: '/v1/store/orders', headers, agent }).on('error', () => {});
  }

  async function readHonestly(): Promise<number> {
    const startMs = performance.now();
    const [response]: IncomingMessage[] = await once(request(honest.key), 'response');
    assert.equal(response?.statusCode, 200);
    const servedMs = performance.now() - startMs;
    const scan = createListScan();
    for await (const chunk of response) scan.add(chunk);
    assert.deepEqual([scan.orders(), scan.isAscending()], [ORDERS, true]);
    return servedMs;
  }

  const PACES: Readonly<Record<string, (response: IncomingMessage) => void>> = {
    'read nothing': () => {},
    'read a little every now and then': (response) => {
      const reading = setInterval(() => response.read(65_536), 400);
      response.once('close', () => clearInterval(reading));
    },
  };
  for (const [name, read] of Object.entries(PACES)) {
    test(`a fast reader is served while the slow readers ${name}`, async (t) => {
      const alone = await readHonestly();
      const requests: ReturnType<typeof request>[] = [];
      for (let i = 0; i < SLOW; i++) {
        const asked = request(slow.key);
        asked.on('response', (response) => {
          response.on('error', () => {});
          response.pause();
          read(response);
        });
        requests.push(asked);
        // After each of the first four requests, the test waits until the response has begun.
        // Otherwise these requests would share a snapshot and its connection.
        if (i < 4) await once(asked, 'response');
      }
      const servedMs: number[] = [];
      for (let i = 0; i < 3; i++) servedMs.push(await readHonestly());
      for (const asked of requests) asked.destroy();
      t.diagnostic(`served after ${servedMs.map(Math.round).join(', ')} ms, alone after ${Math.round(alone)} ms`);
      assert.ok(servedMs.every((ms) => ms <= SERVED_MS));
    });
  }
});
