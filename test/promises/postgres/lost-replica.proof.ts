import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import pg from 'pg';
import { createApiKey } from '../../../dist/program/keys/api-key.js';
import { openServerStorage } from '../../../dist/program/storage/open.js';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { startServer } from '../../program/support/program.js';
import { type Engine, missingEngine, startPostgres } from '../../support/postgres-server.js';
import { until } from '../../support/until.js';
import { missingPooler, startPooler } from './support/pooler.js';

const { connect: connectClient, end: endClient } = pg.Client.prototype;
const CANCELS = 30;
const SECONDS = 12;
const LATE = /has not replied within 6 s|has not ended 4 earlier statements|have kept it from being changed/;

const WAYS = {
  'as a role that assumes another': {
    skip: missingEngine,
    urlOf: async (engine: Engine, url: string) => {
      await engine.pool().query(`CREATE ROLE owner; CREATE ROLE login LOGIN IN ROLE owner;
        ALTER ROLE login SET role = owner; ALTER DATABASE ${nameOf(url)} OWNER TO owner`);
      return url.replace('postgres@', 'login@');
    },
  },
  'behind pgbouncer': {
    skip: missingEngine || missingPooler,
    urlOf: async (engine: Engine, url: string) => (await startPooler(engine, 8))(nameOf(url)),
  },
};

const nameOf = (url: string) => url.match(/\/(\w+)\?/)?.[1] ?? '';

for (const [way, { skip, urlOf }] of Object.entries(WAYS)) {
  describe(`a synchronous replica that is lost, ${way}`, { skip, concurrency: 1 }, async () => {
    async function start(t: TestContext) {
      const engine = await startPostgres();
      t.after(engine.stop);
      const direct = await createDatabase(engine);
      const url = await urlOf(engine, direct);
      const admin = new pg.Client({ ...engine.connection, database: nameOf(direct) });
      admin.on('error', () => {});
      await admin.connect();
      t.after(() => admin.end().catch(() => {}));
      const setReplica = async (name: string) => {
        await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
        await admin.query('SELECT pg_reload_conf()');
        await until(
          async () => (await admin.query('SHOW synchronous_standby_names')).rows[0].synchronous_standby_names === name,
        );
        // The process that makes checkpoints tells the others.
        await admin.query('CHECKPOINT');
      };
      /** Returns how many processes the server has for the program, and how many of them wait for the replica. */
      const count = async () => {
        const { rows } =
          await admin.query(`SELECT count(*)::int AS all, count(*) FILTER (WHERE wait_event = 'SyncRep')::int AS waiting
          FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`);
        return rows[0];
      };
      const fail = async () => {
        await admin.query('ALTER SYSTEM RESET synchronous_standby_names');
        await engine.crash();
        await engine.start();
      };
      return { url, setReplica, count, fail };
    }

    async function open(t: TestContext, url: string) {
      const opened = await openServerStorage({ db: '', databaseUrl: url });
      assert.ok(opened.ok, opened.ok ? '' : opened.message);
      t.after(opened.storage.close);
      return opened.storage;
    }

    test('holds at most 4 connections with the cancels of clients that got 503, while lists and keys go on; with the replica all is well', async (t) => {
      const { url, setReplica, count } = await start(t);
      let mostOpen = 0;
      const clients = new Set<pg.Client>();
      t.mock.method(pg.Client.prototype, 'connect', function (this: pg.Client, ...parameters: unknown[]) {
        mostOpen = Math.max(mostOpen, clients.add(this).size);
        return Reflect.apply(connectClient, this, parameters);
      });
      t.mock.method(pg.Client.prototype, 'end', function (this: pg.Client, ...parameters: unknown[]) {
        clients.delete(this);
        return Reflect.apply(endClient, this, parameters);
      });
      const { orders, keys } = await open(t, url);
      await orders.put(Array.from({ length: CANCELS + 1 }, (_, id) => ({ id })));
      const { key } = await keys.create({ name: 'free' });
      await setReplica('absent');
      let most = { all: 0, waiting: 0 };
      const settled: PromiseSettledResult<unknown>[] = [];
      for (let id = 0; id < CANCELS; id++) {
        void Promise.allSettled([orders.cancel(BigInt(id))]).then((results) => settled.push(...results));
        await new Promise((resolve) => setTimeout(resolve, 300));
        assert.equal((await orders.get(BigInt(id)))?.status, 'pending');
        const lookUps = Array.from({ length: 20 }, () => keys.authenticate(createApiKey()));
        assert.ok(await keys.authenticate(key));
        await Promise.all(lookUps);
        assert.ok((await orders.list()).version);
        const now = await count();
        most = { all: Math.max(most.all, now.all), waiting: Math.max(most.waiting, now.waiting) };
      }
      await until(() => settled.length === CANCELS);
      t.diagnostic(`${most.waiting} of at most ${most.all} server processes waited for the replica`);
      assert.ok(
        settled.every((result) => result.status === 'rejected' && LATE.test(result.reason.message)),
        String(settled[0]),
      );
      assert.equal(most.waiting, 4);
      assert.ok(mostOpen <= 12, `${mostOpen} connections`);
      await setReplica('');
      await until(async () => (await count()).waiting === 0);
      assert.equal(await orders.cancel(BigInt(CANCELS)), 'cancelled');
      assert.equal((await orders.get(0n))?.status, 'cancelled');
    });

    test('while a free key sends a server a cancel each second, lists and keys go on; with the replica cancels do too', async (t) => {
      const { url, setReplica, count } = await start(t);
      const { orders, keys } = await open(t, url);
      await orders.put(Array.from({ length: SECONDS + 1 }, (_, id) => ({ id })));
      const { key: free } = await keys.create({ name: 'free' });
      const others: string[] = [];
      // One by one, so that the storage of this test opens one connection.
      for (let second = 0; second < SECONDS; second++) others.push((await keys.create({ name: 'free' })).key);
      const server = await startServer(t, { env: { DATABASE_URL: url } }, '--redis-url', 'redis://127.0.0.1:1');
      const cancel = async (id: number) => {
        const headers = { authorization: `Bearer ${free}` };
        const response = await fetch(`${server.url}/store/orders/${id}`, { method: 'DELETE', headers });
        return [response.status, response.headers.has('retry-after')];
      };
      await setReplica('absent');
      const cancels: ReturnType<typeof cancel>[] = [];
      const lists: number[] = [];
      let most = { all: 0, waiting: 0 };
      // The process has not seen any of these keys before.
      for (const [id, key] of others.entries()) {
        cancels.push(cancel(id));
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        lists.push((await server.get(key)).status);
        const now = await count();
        most = { all: Math.max(most.all, now.all), waiting: Math.max(most.waiting, now.waiting) };
      }
      t.diagnostic(`${most.waiting} of at most ${most.all} server processes waited for the replica`);
      assert.deepEqual(lists, Array(SECONDS).fill(200));
      assert.deepEqual(await Promise.all(cancels), Array(SECONDS).fill([503, true]));
      assert.equal(most.waiting, 4);
      // One of the processes serves the storage of this test.
      assert.ok(most.all <= 12 + 1, `${most.all}`);
      await setReplica('');
      await until(async () => (await count()).waiting === 0);
      assert.deepEqual(await cancel(SECONDS), [204, false]);
    });

    test('does not delay SIGTERM', async (t) => {
      const { url, setReplica, count } = await start(t);
      const env = { DATABASE_URL: url };
      const storage = await open(t, url);
      await storage.orders.put([{ id: 1 }]);
      const { key } = await storage.keys.create({ name: 'free' });
      const server = await startServer(t, { env }, '--redis-url', 'redis://127.0.0.1:1');
      await setReplica('absent');
      const headers = { authorization: `Bearer ${key}` };
      const { status } = await fetch(new URL('/v1/store/orders/1', server.url), { method: 'DELETE', headers });
      assert.deepEqual([status, (await count()).waiting], [503, 1]);
      const late = new Promise((resolve) => setTimeout(resolve, 20_000, 'still running').unref());
      assert.equal(await Promise.race([server.stop('SIGTERM'), late]), 0);
    });

    test('a failover frees the connections', async (t) => {
      const { url, setReplica, count, fail } = await start(t);
      const { orders } = await open(t, url);
      await orders.put(Array.from({ length: 6 }, (_, id) => ({ id })));
      await setReplica('absent');
      const cancels: unknown[] = [];
      for (let id = 0; id < 5; id++) {
        cancels.push(Promise.resolve(orders.cancel(BigInt(id))));
        await until(async () => (await count()).waiting === Math.min(id + 1, 4));
      }
      await Promise.allSettled(cancels);
      await fail();
      await until(async () => (await Promise.resolve(orders.cancel(5n)).catch(() => '')) === 'cancelled');
    });
  });
}

test('a network that loses the replies of cancels frees their connections when it is back', {
  skip: missingEngine,
}, async (t) => {
  const engine = await startPostgres();
  t.after(engine.stop);
  const sockets: Socket[] = [];
  const path = join(engine.connection.host, '.s.PGSQL.5432');
  const proxy = createServer((socket) => {
    const server = connect(path);
    socket.pipe(server).pipe(socket);
    for (const end of [socket, server]) end.on('error', () => {});
    sockets.push(socket, server);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.after(() => proxy.close());
  const { port } = proxy.address() as AddressInfo;
  const opened = await openServerStorage({ db: '', databaseUrl: `postgres://postgres@127.0.0.1:${port}/postgres` });
  assert.ok(opened.ok);
  const { orders, close } = opened.storage;
  t.after(close);
  await orders.put(Array.from({ length: 6 }, (_, id) => ({ id })));
  const admin = engine.pool({ options: '' });
  await admin.query(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(3); RETURN NEW; END'; CREATE TRIGGER hold BEFORE UPDATE ON store_orders FOR EACH ROW EXECUTE FUNCTION hold()`);
  const cancels: unknown[] = [];
  const held = async () => (await admin.query("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).rows.length;
  for (let id = 0; id < 4; id++) {
    cancels.push(Promise.resolve(orders.cancel(BigInt(id))));
    await until(async () => (await held()) === id + 1);
  }
  // From now on nothing passes, and nobody is told.
  for (const socket of sockets) socket.unpipe().pause();
  const results = await Promise.allSettled(cancels);
  assert.ok(results.every(({ status }) => status === 'rejected'));
  await until(async () => (await Promise.resolve(orders.cancel(5n)).catch(() => '')) === 'cancelled');
});
