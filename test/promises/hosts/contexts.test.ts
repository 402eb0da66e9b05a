import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Server } from 'node:http';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createPlan, type OrderServiceOptions, perDay } from 'store-orders';
import { fetchHandler } from 'store-orders/fetch';
import { fixedPath } from 'store-orders/handler';
import { createPostgresOrderStore, type PostgresStatement } from 'store-orders/postgres';
import { createRedisLimiter } from 'store-orders/redis';
import { createOrderServer } from 'store-orders/server';
import { createSqliteOrderStore } from 'store-orders/sqlite';
import { GARBAGE } from '../../http/mounts/support/attached.js';
import { SERVERS, serve } from '../../http/mounts/support/servers.js';
import { AUTHORIZATION, lines } from '../../http/support/messages.js';
import { exchange, open, readText } from '../../http/support/raw-socket.js';
import { authenticate, createShop, GET, KEY, ORDERS } from '../../http/support/shop.js';
import { sqliteDrivers } from '../../orders/sqlite/support/drivers.js';
import { wrapDatabase } from '../../orders/sqlite/support/wrapped-database.js';
import { fakeStore, pagesOf } from '../../support/fake-store.js';
import { temporaryFile } from '../../support/temporary-file.js';

/** The tenant, user or span of a request, as a host or its tracer keeps it. */
const context = new AsyncLocalStorage<string>();

/** Creates a function that notes the context in which it is called, with a text, until the test ends. */
function createNotes() {
  // A storage in use would make each later promise of the process slower.
  after(() => context.disable());
  const notes: string[] = [];
  return { notes, note: (text: string) => void notes.push(`${text} in ${context.getStore()}`) };
}

/** Returns the parts of a service. Each notes its calls. */
function noting(note: (text: string) => void): Partial<OrderServiceOptions> {
  const { limiter } = createShop();
  return {
    async authenticate(apiKey) {
      note('authenticate');
      await setImmediate();
      return authenticate(apiKey);
    },
    limiter: {
      async take(key, plan) {
        note('take');
        await setImmediate();
        return limiter.take(key, plan);
      },
    },
    store: fakeStore({
      async *list() {
        for (let page = 0; page < 3; page++) {
          note('list');
          yield `{"id":${page},"shipDate":"${'x'.repeat(100_000)}"}`;
          await setImmediate();
        }
      },
      async cancel() {
        note('cancel');
        await setImmediate();
        return 'cancelled' as const;
      },
    }),
  };
}

const CANCEL = ['authenticate', 'take', 'cancel'];
const LIST = ['authenticate', 'take', 'list', 'list', 'list'];
const within = (calls: readonly string[], name: string) => calls.map((call) => `${call} in ${name}`);

/** Makes the host run each request in a context that is named by the field Host. */
function runInContexts(server: Server): Server {
  const [listener] = server.listeners('request');
  server.removeAllListeners('request');
  return server.on('request', (request, response) =>
    context.run(`${request.headers.host}`, () => listener?.(request, response)),
  );
}

for (const [name, mount] of Object.entries(SERVERS)) {
  test(`${name}: pipelined requests call the parts of the host each in its own context`, async (t) => {
    const { notes, note } = createNotes();
    const server = runInContexts(await mount(createShop(noting(note)).service));
    const send = (head: string, host: string, ...fields: string[]) =>
      lines(`${head} HTTP/1.1`, `Host: ${host}`, AUTHORIZATION, ...fields);
    const requests = [
      send(`DELETE ${ORDERS}/1`, 'a.shop'),
      send(`DELETE ${ORDERS}/2`, 'b.shop'),
      send(`GET ${ORDERS}`, 'c.shop'),
      send(`GET ${ORDERS}`, 'd.shop', 'Connection: close'),
    ];
    await readText(open(await serve(t, server), requests.join('')));
    assert.deepEqual(
      notes.sort(),
      [
        ...within(CANCEL, 'a.shop'),
        ...within(CANCEL, 'b.shop'),
        ...within(LIST, 'c.shop'),
        ...within(LIST, 'd.shop'),
      ].sort(),
    );
  });
}

test('a request that reaches no listener of the host is refused in the context in which the handler was attached', async (t) => {
  const { notes, note } = createNotes();
  const { service } = createShop(noting(note));
  const server = await context.run('server', () => SERVERS['nodeHandler with attach'](service));
  const port = await serve(t, server);
  for (const bytes of [lines('CONNECT a:443 HTTP/1.1', 'Host: a', AUTHORIZATION), GARBAGE]) await exchange(port, bytes);
  assert.deepEqual(notes, within(['authenticate', 'take', 'take'], 'server'));
});

test('a streamed list is read in the context of its request, wherever the host reads the response', async () => {
  const { notes, note } = createNotes();
  const handle = fetchHandler(createShop(noting(note)).service);
  const ask = () => handle(new Request(`http://a${ORDERS}`, { headers: [KEY] }));
  const response = await context.run('a.shop', ask);
  await context.run('b.shop', () => response.text());
  assert.deepEqual(notes, within(LIST, 'a.shop'));
});

test('what a function returns for all requests is not read in the context of the first', async (t) => {
  const { notes, note } = createNotes();
  const page = () => {
    note('page');
    return 'page';
  };
  const check = () => {
    note('check');
    return 'ok' as const;
  };
  const server = context.run('server', () => {
    const { store, limiter } = createShop();
    const paths = { '/page': fixedPath('text/plain', page) };
    return createOrderServer({ store, limiter, authenticate, paths, backends: { db: check } });
  });
  const port = await serve(t, runInContexts(server));
  for (const path of ['/page', '/readyz']) assert.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 200);
  assert.deepEqual(notes, within(['page', 'check'], 'server'));
});

for (const [kind, listOf] of Object.entries({
  'pages with a version': (name: string) => pagesOf([[{ id: 1n, shipDate: name }]], name),
  'arrays without a version': (name: string) => [{ id: 1n, shipDate: name }],
})) {
  test(`of concurrent requests for lists that depend on who asks, each gets its own (${kind})`, async () => {
    async function list() {
      await setImmediate();
      return listOf(`${context.getStore()}`);
    }
    const { service } = createShop({ store: fakeStore({ list }) });
    const names = ['a.shop', 'b.shop', 'c.shop', 'd.shop'];
    const replies = names.map((name) => context.run(name, async () => service.respond(GET)));
    const listed = (await Promise.all(replies)).map(({ body }) => body);
    assert.deepEqual(
      listed,
      names.map((name) => `[{"id":1,"shipDate":"${name}"}]`),
    );
  });
}

test('a cancel that PostgreSQL carries out alone is sent in its own context, and a group in that of the store', async () => {
  const { notes, note } = createNotes();
  async function query({ values }: PostgresStatement) {
    note(`${values}`);
    return { rows: [] };
  }
  const store = context.run('store', () => createPostgresOrderStore({ query }));
  const cancel = (id: bigint, name: string) => context.run(name, () => store.cancel(id));
  await cancel(1n, 'a.shop');
  await Promise.all([cancel(2n, 'b.shop'), cancel(3n, 'c.shop')]);
  const sent = cancel(4n, 'a.shop');
  await setImmediate();
  await Promise.all([sent, cancel(5n, 'b.shop')]);
  assert.deepEqual(notes, ['1 in a.shop', '{2,3} in store', '4 in a.shop', '5 in b.shop']);
});

test('a cancel of a group that PostgreSQL has refused, or whose order is locked, is sent again in its own context', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { notes, note } = createNotes();
  async function query({ values }: PostgresStatement) {
    note(`${values}`);
    if (notes.length === 1) throw Object.assign(new Error('refused'), { code: '23514' });
    return { rows: notes.length === 2 ? [{ id: '1', found: '0' }] : [] };
  }
  const store = context.run('store', () => createPostgresOrderStore({ query }));
  const cancelled = ['a.shop', 'b.shop'].map((name, index) => context.run(name, () => store.cancel(BigInt(index + 1))));
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  t.mock.timers.tick(50);
  await Promise.all(cancelled);
  assert.deepEqual(notes, ['{1,2} in store', '1 in a.shop', '2 in b.shop', '1 in a.shop']);
});

for (const { name, open } of sqliteDrivers) {
  test(`under ${name}, a write runs in its own context, and a commit of several in that of the store`, async () => {
    const { notes, note } = createNotes();
    const database = wrapDatabase(open(temporaryFile()), {
      exec(sql, proceed) {
        note(sql);
        return proceed();
      },
      run(parameters, proceed) {
        note(`${parameters.at(-1)}`);
        return proceed();
      },
    });
    const store = context.run('store', () => createSqliteOrderStore(database));
    await store.put([{ id: 1n }, { id: 2n }, { id: 3n }]);
    notes.length = 0;
    await context.run('a.shop', () => store.cancel(1n));
    const both = [2n, 3n].map((id) => context.run(`${id}.shop`, () => store.cancel(id)));
    await Promise.all(both);
    assert.deepEqual(notes, [
      ...within(['BEGIN IMMEDIATE', '1', 'COMMIT'], 'a.shop'),
      'BEGIN IMMEDIATE in store',
      '2 in 2.shop',
      '3 in 3.shop',
      'COMMIT in store',
    ]);
  });
}

test('Redis is asked about a request in its context, and probed for all requests in that of the limiter', async (t) => {
  const { notes, note } = createNotes();
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const plan = createPlan({ name: 'daily', policies: [perDay(9)] });
  const limiter = context.run('limiter', () =>
    createRedisLimiter({
      async send([command]) {
        note(`${command}`);
        throw new Error('down');
      },
      onMode: (mode) => note(mode),
    }),
  );
  const take = (name: string) => context.run(name, () => limiter.take('key', plan));
  for (const name of ['a.shop', 'b.shop', 'c.shop']) await take(name);
  nowMs = 1_000;
  await take('d.shop');
  const asked = ['EVALSHA in a.shop', 'EVALSHA in b.shop', 'EVALSHA in c.shop'];
  assert.deepEqual(notes, [...asked, 'local in limiter', 'EVALSHA in limiter']);
});
