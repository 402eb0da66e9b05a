import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openPostgresStorage } from '../../../dist/server/storage/postgres.js';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { createListScan } from '../../support/list-scan.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { startServer } from '../support/program.js';

const ORDERS = 150_000;
/** A client without a valid key would be cut off before this time. */
const READ_MS = 15_000;
const PAUSES = 150;

describe('a long list of the program over PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  test(`the first list of a key in this process arrives whole, although its client takes ${READ_MS / 1_000} s`, async (t) => {
    const url = await createDatabase(engine);
    const open = await openPostgresStorage(url, { create: true });
    assert.ok(open.ok);
    const { key } = await open.data.keys.create({ name: 'pro' });
    await open.data.close();
    const admin = new pg.Client(url);
    await admin.connect();
    await admin.query(`INSERT INTO store_orders SELECT i, i, 1, '2026-07-16T00:00:00Z', false, 'pending'
      FROM generate_series(1, ${ORDERS}) AS i`);
    await admin.end();
    const server = await startServer(
      t,
      { cwd: temporaryDirectory(), env: { DATABASE_URL: url } },
      '--redis-url',
      'redis://127.0.0.1:1',
    );
    const agent = new Agent({ keepAlive: true });
    t.after(() => agent.destroy());
    const headers = { authorization: `Bearer ${key}` };
    const [response]: IncomingMessage[] = await once(
      get(new URL(`${server.url}/store/orders`), { headers, agent }),
      'response',
    );
    assert.equal(response?.statusCode, 200);
    const scan = createListScan();
    let pauses = 0;
    for await (const chunk of response) {
      scan.add(chunk);
      if (scan.bytes() < (pauses * 15_000_000) / PAUSES) continue;
      pauses++;
      await sleep(READ_MS / PAUSES);
    }
    assert.deepEqual([scan.orders(), scan.isAscending()], [ORDERS, true]);
    t.diagnostic(`${scan.bytes()} bytes`);
  });
});
