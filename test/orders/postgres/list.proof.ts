import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { type TestContext, test } from 'node:test';
import type pg from 'pg';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { createListScan } from '../../support/list-scan.js';
import { forgetPeak, MIB, mebibytes, peakBytes } from '../../support/memory.js';
import { messageFrom } from '../../support/outer-environment.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { until } from '../../support/until.js';

const MANY = 1_000_000;
const BEYOND_BASE = 64 * MIB;
const HANG_UPS = 5;
const READERS = 8;
const LISTS_EACH = 2;

test('a million orders in PostgreSQL', { skip: missingEngine }, async (t) => {
  const engine = await startEngine();
  const admin = engine.pool({ options: '' });
  await createPostgresOrderStore(admin).migrate();
  // The test inserts the orders by SQL, because `put` is not under test.
  await admin.query(`INSERT INTO store_orders SELECT 2 * i, i % 90, i % 30 + 1, '2026-07-16T00:00:00Z', i % 2 = 0, 'pending'
    FROM generate_series(0, ${MANY - 1}) AS i`);
  await admin.query('VACUUM ANALYZE store_orders');
  const server = await startServing(t, engine.url, 'streamed');
  const isAtRest = async () => (await statesOf(admin)).every((state) => state === 'idle');

  await t.test('when a client of a streamed list hangs up, its database connection becomes free', async () => {
    for (let i = 0; i < HANG_UPS; i++) {
      const response = await server.list('ann');
      assert.ok(!(await isAtRest()), 'the list is still being read');
      response.destroy();
      await until(isAtRest);
    }
    assert.ok((await statesOf(admin)).length <= 2, 'a list reuses a connection that an earlier list has freed');
  });

  await t.test('a million orders are streamed from one snapshot, in bounded memory', async (t) => {
    // The server has already served lists, so the memory that it usually needs is part of the
    // baseline.
    forgetPeak(server.pid);
    const baseBytes = peakBytes(server.pid);
    const response = await server.list('ann');
    const scan = createListScan();
    let put: Promise<unknown> | undefined;
    for await (const chunk of response) {
      // The reader has passed the first of these ids, but has not reached the second.
      put ??= admin.query("INSERT INTO store_orders (id, status) VALUES (1, 'pending'), (1999997, 'pending')");
      scan.add(chunk);
    }
    await put;
    const beyondBytes = peakBytes(server.pid) - baseBytes;
    assert.deepEqual([scan.orders(), scan.isAscending()], [MANY, true]);
    const [base, list, beyond] = [baseBytes, scan.bytes(), beyondBytes].map(mebibytes);
    t.diagnostic(`memory: base ${base}, list ${list}, beyond ${beyond}`);
    assert.ok(beyondBytes <= BEYOND_BASE, `the list took ${beyondBytes} more bytes than the baseline`);
    assert.ok(await isAtRest());
  });

  await t.test(
    'if the connection is lost while the client of a streamed list pauses, the list is cut off, and the next one is complete',
    async () => {
      const response = await server.list('ann');
      await until(async () => (await statesOf(admin)).includes('idle in transaction'));
      await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'serving'");
      await until(async () => (await statesOf(admin)).length === 0);
      await assert.rejects(text(response), { code: 'ECONNRESET' });

      const scan = createListScan();
      for await (const chunk of await server.list('ann')) scan.add(chunk);
      assert.deepEqual([scan.orders(), scan.isAscending()], [MANY + 2, true]);
    },
  );

  await t.test(
    'a list with a revision is read once for all clients, and holds no connection while they read',
    async (t) => {
      const sharing = await startServing(t, engine.url, 'shared');
      const waiting = await Promise.all(Array.from({ length: READERS }, () => sharing.list('ann')));
      assert.ok(await isAtRest());
      assert.equal(await sharing.readings(), 1);
      // That of the other server, that of the reading, and that of the revision, which is asked for again
      // if the reading takes long.
      assert.ok((await statesOf(admin)).length <= 3);
      const scan = createListScan();
      const response = await sharing.list('ann');
      for await (const chunk of response) scan.add(chunk);
      assert.deepEqual([scan.orders(), scan.isAscending()], [MANY + 2, true]);
      for (const { headers } of waiting) assert.equal(headers.etag, response.headers.etag);
      for (const reader of waiting) reader.destroy();

      forgetPeak(sharing.pid);
      const baseBytes = peakBytes(sharing.pid);
      let isReading = true;
      async function change(): Promise<void> {
        for (let id = 1; isReading; id += 2)
          await admin.query("INSERT INTO store_orders (id, status) VALUES ($1, 'x')", [-id]);
      }
      const changing = change();
      const tags = new Set<unknown>();
      let cuts = 0;
      // If this process is so slow that its lists are of more than two versions, the oldest is cut off.
      const noteCut = (error: unknown) => {
        assert.equal(Object(error).code, 'ECONNRESET');
        cuts++;
      };
      const read = async () => {
        for (let list = 0; list < LISTS_EACH; list++) {
          const response = await sharing.wholeList('ann');
          tags.add(response.headers.etag);
          await finished(response.resume()).catch(noteCut);
        }
      };
      await Promise.all(Array.from({ length: READERS }, read));
      isReading = false;
      await changing;
      const beyondBytes = peakBytes(sharing.pid) - baseBytes;
      const [base, list, beyond] = [baseBytes, scan.bytes(), beyondBytes].map(mebibytes);
      t.diagnostic(
        `memory: base with one list ${base}, list ${list}, beyond ${beyond}; ${tags.size} versions were sent, ${cuts} lists cut off`,
      );
      assert.ok(tags.size > 1);
      assert.ok(cuts <= READERS);
      assert.ok(beyondBytes <= 2 * scan.bytes() + BEYOND_BASE, `${beyond} beyond the base`);
    },
  );

  await t.test('a key whose clients read slowly holds one connection, and other keys get their lists', async () => {
    const slow = Array.from({ length: 8 }, () => server.list('slow'));
    await until(async () => !(await isAtRest()));
    const others = await Promise.all(['ann', 'bob', 'cid'].map(server.list));
    assert.deepEqual(
      others.map(({ statusCode }) => statusCode),
      [200, 200, 200],
    );
    const replies = await Promise.all(slow);
    assert.deepEqual(replies.map(({ statusCode }) => statusCode).sort(), [200, ...Array(7).fill(503)]);
    for (const reply of [...others, ...replies]) reply.destroy();
    await until(isAtRest);
  });

  for (const [orders, says, cutOff] of [
    [MANY, 'ends with an error, because 32 MB are not enough', ['ECONNRESET']],
    [200_000, 'is read ahead', []],
  ] as const) {
    await t.test(
      `four keys whose clients stall do not keep another key from its list: of ${orders} orders, one of their lists ${says}`,
      async () => {
        await admin.query('DELETE FROM store_orders WHERE id < 0 OR id >= $1', [2 * orders]);
        const slow: IncomingMessage[] = [];
        for (const key of ['bob', 'cid', 'dan', 'eve']) slow.push(await server.list(key));
        await until(
          async () => (await statesOf(admin)).filter((state) => state === 'idle in transaction').length === 4,
        );
        const whole = await countOrders(await server.wholeList('ann'));
        assert.ok(whole >= orders, `${whole} orders`);
        const counted = await Promise.allSettled(slow.map(countOrders));
        const ends = counted.map((list) => (list.status === 'fulfilled' ? list.value : list.reason.code));
        // Which client stalls first is up to the sockets.
        const incomplete = ends.filter((end) => end !== whole);
        assert.deepEqual(incomplete, cutOff);
        await until(isAtRest);
      },
    );
  }
});

/** Reads a list to its end, and returns the number of its orders. */
async function countOrders(response: IncomingMessage): Promise<number> {
  const scan = createListScan();
  for await (const chunk of response) scan.add(chunk);
  return scan.orders();
}

/** Returns what each database connection of the serving process is doing. */
async function statesOf(admin: pg.Pool): Promise<readonly string[]> {
  const { rows } = await admin.query("SELECT state FROM pg_stat_activity WHERE application_name = 'serving'");
  return rows.map(({ state }) => state);
}

/** Starts a process that serves the orders. */
async function startServing(t: TestContext, url: string, way: 'streamed' | 'shared') {
  const child = fork(new URL('./support/serving-process.ts', import.meta.url), [url, way], {
    // Newer versions of V8 collect short-lived objects later. This option keeps that extra memory
    // out of the measurement.
    execArgv: [...process.execArgv, '--max-semi-space-size=4'],
  });
  t.after(() => child.kill());
  const port = await messageFrom<number>(child);
  const options = { port, path: '/v1/store/orders' };

  /** Requests the list, and waits until the first bytes of the body can be read. */
  async function list(key: string): Promise<IncomingMessage> {
    const [response] = await once(get({ ...options, headers: { authorization: `Bearer ${key}` } }), 'response');
    await once(response, 'readable');
    return response;
  }

  return {
    pid: child.pid,
    list,

    /** Requests the list until it is not refused: a busy machine may need longer than the 5 s of its patience. */
    async wholeList(key: string): Promise<IncomingMessage> {
      let response = await list(key);
      for (let tries = 0; response.statusCode === 503 && tries < 10; tries++) response = await list(key);
      assert.equal(response.statusCode, 200);
      return response;
    },

    /** Resolves to the number of long lists that the process has begun to read. */
    async readings(): Promise<number> {
      child.send('readings');
      return messageFrom<number>(child);
    },
  };
}
