import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import pg from 'pg';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { openPostgresStorage } from '../../../dist/program/storage/postgres.js';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { listed } from '../../orders/support/store-suite.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { until } from '../../support/until.js';
import { missingPooler, startPooler } from './support/pooler.js';

const CONNECTIONS = 16;
const CALLS = 200;
const LOST = /^PostgreSQL has lost a prepared statement/;

describe('behind pgbouncer in transaction mode', { skip: missingEngine || missingPooler }, async () => {
  const engine = await startEngine();
  const urlOf = await startPooler(engine);
  const newUrl = async () => urlOf((await createDatabase(engine)).match(/\/(\w+)\?/)?.[1] ?? '');

  /** Returns the messages of the warnings that the process has emitted since. */
  function watchWarnings(t: TestContext): readonly string[] {
    const messages: string[] = [];
    const onWarning = ({ message }: Error) => void messages.push(message);
    process.on('warning', onWarning);
    t.after(() => process.off('warning', onWarning));
    return messages;
  }

  test(`${CALLS} of ${CALLS} lists and cancels succeed over ${CONNECTIONS} connections, with one warning`, async (t) => {
    const warnings = watchWarnings(t);
    const pool = new pg.Pool({ connectionString: await newUrl(), max: CONNECTIONS });
    t.after(() => pool.end());
    const store = createPostgresOrderStore(pool);
    await store.migrate();
    const [cancels, lists]: [string[], number[]] = [[], []];
    async function call(seat: number): Promise<void> {
      for (let id = seat; id < CALLS; id += CONNECTIONS) {
        await store.put([{ id }]);
        lists.push((await listed(store)).filter((order) => order.id === BigInt(id)).length);
        cancels.push(await store.cancel(BigInt(id)));
        assert.equal((await store.get(BigInt(id)))?.status, 'cancelled');
      }
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, seat) => call(seat)));
    assert.deepEqual(cancels, Array(CALLS).fill('cancelled'));
    assert.deepEqual(lists, Array(CALLS).fill(1));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', LOST);
  });

  test('the storage of a server opens without a statement_timeout, and warns; keys, imports and exports work', async (t) => {
    const warnings = watchWarnings(t);
    const opened = await openPostgresStorage(await newUrl(), { isServer: true });
    assert.ok(opened.ok, JSON.stringify(opened));
    const { storage } = opened;
    t.after(storage.close);
    // Node.js emits a warning in a later turn of the event loop.
    await until(() => warnings.length > 0);
    const [warning = '', ...others] = warnings;
    assert.ok(warning.startsWith(`${storage.name} refuses the startup parameter statement_timeout`), warning);
    assert.deepEqual(others, []);
    const batches = Readable.from([
      Array.from({ length: 5_000 }, (_, id) => ({ line: id + 1, record: { id: BigInt(id), status: 'pending' } })),
    ]);
    assert.deepEqual(await storage.importRecords(batches, false), { outcome: 'stored', count: 5_000 });
    const { key, id } = await storage.keys.create({ name: 'pro' });
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, seat) => {
        for (let order = seat; order < CALLS; order += CONNECTIONS) {
          assert.equal((await storage.keys.authenticate(key))?.id, id);
          assert.equal(await storage.orders.cancel(BigInt(order)), 'cancelled');
          assert.equal(await storage.state(), 'ok');
        }
      }),
    );
    let count = 0;
    for await (const batch of storage.records()) count += batch.length;
    assert.deepEqual([count, (await listed(storage.orders)).length], [5_000, 5_000]);
  });
});
