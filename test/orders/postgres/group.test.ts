import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createPostgresOrderStore, type PostgresRow, type PostgresStatement } from 'store-orders/postgres';
import { importRecords } from '../../../dist/orders/postgres/import.js';
import { idsTo } from '../support/ids.js';

/** Creates a pool whose queries the test resolves or rejects itself, and a store over this pool. */
function heldPool() {
  const asked: (PostgresStatement & { resolve(answer: { rows: PostgresRow[] }): void; reject(error: Error): void })[] =
    [];
  const query = (statement: PostgresStatement) =>
    new Promise<{ rows: PostgresRow[] }>((resolve, reject) => void asked.push({ ...statement, resolve, reject }));
  return { store: createPostgresOrderStore({ query }), asked };
}

for (const code of ['ECONNRESET', 'EPIPE', undefined, '57P01', '57014', '08006', '25006', '53300', '58030', 'XX000']) {
  test(`if the reply to several cancels is lost (${code}), all these cancels reject, and none is sent again`, async () => {
    const { store, asked } = heldPool();
    const outcomes = Promise.allSettled([store.cancel(1n), store.cancel(2n)]);
    await setImmediate();
    asked[0]?.reject(Object.assign(new Error('lost'), { code }));
    assert.ok((await outcomes).every(({ status }) => status === 'rejected'));
    await setImmediate();
    assert.equal(asked.length, 1);
  });
}

test('refused cancels that are sent again alone, in turn, leave no timer that keeps the process running', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  const query = () => Promise.reject(Object.assign(new Error('refused'), { code: '23514' }));
  const store = createPostgresOrderStore({ query });
  const outcomes = await Promise.allSettled(idsTo(20).map((id) => store.cancel(id)));
  assert.ok(outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason.message === 'refused'));
  await setImmediate();
  assert.equal(timers(), before);
});

test('a statement carries out at most 128 cancels, in ascending order of ids, and each order once; a trigger waits for a lock for at most 100 ms', async () => {
  const { store, asked } = heldPool();
  const outcomes = [127n, ...idsTo(128).reverse()].map((id) => store.cancel(id));
  await setImmediate();
  asked[0]?.resolve({ rows: [] });
  await outcomes[0];
  await setImmediate();
  await setImmediate();
  asked[1]?.resolve({ rows: [] });
  assert.deepEqual(new Set(await Promise.all(outcomes)), new Set(['not_found']));
  assert.match(asked[0]?.text ?? '', /set_config\('lock_timeout', '100', true\)/);
  assert.deepEqual([asked[0]?.values, asked[1]?.values], [[`{${idsTo(128).slice(1)}}`], ['0']]);
});

const failingWith = (code: string) => () => Promise.reject(Object.assign(new Error('rolled back'), { code }));

for (const [why, answer] of [
  ['whose order stays locked', async () => ({ rows: [{ id: '1', found: '0' }] })],
  ['whose trigger waits for a lock', failingWith('55P03')],
  ['that is not serialisable', failingWith('40001')],
  ['that is in a deadlock', failingWith('40P01')],
] as const) {
  test(`a cancel ${why} is sent again every 50 ms, and rejects after 5 s`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const query = t.mock.fn(answer);
    const message = 'order 1: other transactions have kept it from being changed for 5 s';
    const rejected = assert.rejects(createPostgresOrderStore({ query }).cancel(1n), { message });
    for (; nowMs <= 5_000; nowMs += 50) {
      for (let turn = 0; turn < 3; turn++) await setImmediate();
      t.mock.timers.tick(50);
    }
    await rejected;
    assert.equal(query.mock.callCount(), 101);
  });
}

test('if the commit of an import fails, its outcome is unknown', async () => {
  const cause = new Error('lost');
  const query = async ({ text }: PostgresStatement) => (text === 'COMMIT' ? Promise.reject(cause) : { rows: [] });
  async function* batches() {
    yield [{ line: 1, record: { id: 1n, status: 'pending' } }];
  }
  const imported = await importRecords(async () => ({ query, release() {} }), batches(), false);
  assert.deepEqual(imported, { outcome: 'unknown', cause });
});

test('cancels in one pass of the event loop share a statement, and cancels during that statement share the next one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { store, asked } = heldPool();
  const first = [store.cancel(1n), store.cancel(2n)];
  await setImmediate();
  const second = [store.cancel(1n)];
  await setImmediate();
  second.push(store.cancel(2n));
  await setImmediate();
  assert.equal(asked.length, 1);
  asked[0]?.resolve({ rows: [] });
  await Promise.all(first);
  await setImmediate();
  asked[1]?.resolve({ rows: [] });
  await Promise.all(second);
  await setImmediate();
  assert.equal(asked.length, 2);
});

test('a cancel without a reply delays the next one by only 25 ms, and fails alone', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { store, asked } = heldPool();
  const lost = store.cancel(1n);
  await setImmediate();
  const next = store.cancel(2n);
  t.mock.timers.tick(24);
  await setImmediate();
  assert.equal(asked.length, 1);
  t.mock.timers.tick(1);
  await setImmediate();
  asked[0]?.reject(new Error('lost'));
  await assert.rejects(async () => lost, /lost/);
  const last = store.cancel(3n);
  await setImmediate();
  assert.equal(asked.length, 2);
  asked[1]?.resolve({ rows: [] });
  await next;
  await setImmediate();
  await setImmediate();
  asked[2]?.resolve({ rows: [] });
  await last;
});

test('while four groups are slow, later cancels gather in one group, which is sent when one of the four ends', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { store, asked } = heldPool();
  const outcomes: unknown[] = [];
  for (let id = 1n; id <= 10n; id++) {
    outcomes.push(store.cancel(id));
    await setImmediate();
    t.mock.timers.tick(25);
    await setImmediate();
  }
  assert.equal(asked.length, 4);
  asked[1]?.resolve({ rows: [] });
  await outcomes[1];
  await setImmediate();
  await setImmediate();
  assert.deepEqual(
    asked.slice(4).map(({ values }) => values),
    [['{5,6,7,8,9,10}']],
  );
  for (const { resolve } of asked) resolve({ rows: [] });
  await Promise.all(outcomes);
});

test('after a pooler has lost a named statement, it is sent again without its name, and no more are named; any other failure is not sent again', async (t) => {
  const warn = t.mock.method(process, 'emitWarning', () => {});
  for (const [code, named] of [
    ['26000', [true, false, false]],
    ['42P05', [true, false, false]],
    ['57014', [true, true]],
  ] as const) {
    const isNamed: boolean[] = [];
    const query = async ({ name }: PostgresStatement) => {
      isNamed.push(name !== undefined);
      if (name !== undefined) throw Object.assign(new Error('refused'), { code });
      return { rows: [] };
    };
    const store = createPostgresOrderStore({ query });
    const outcomes = [await store.cancel(1n).catch(String), await store.cancel(2n).catch(String)];
    assert.deepEqual(new Set(outcomes), new Set([named.length === 3 ? 'not_found' : 'Error: refused']));
    assert.deepEqual(isNamed, named);
  }
  assert.equal(warn.mock.callCount(), 2);
});
