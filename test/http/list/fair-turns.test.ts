import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import type { ListedOrders } from 'store-orders';
import { fetchHandler } from 'store-orders/fetch';
import { nodeHandler } from 'store-orders/handler';
import { fakeStore } from '../../support/fake-store.js';
import { until } from '../../support/until.js';
import { serve } from '../mounts/support/servers.js';
import { get as getHead } from '../support/messages.js';
import { open } from '../support/raw-socket.js';
import { onReplies } from '../support/replies.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { createAsker, manyOrders, settled } from './support/asker.js';
import { createStorage } from './support/storage.js';

const LONG = manyOrders(600);

/** A store that lists when it is told to, and counts its calls. `who` is the key that asks. */
function createSlowStore(listed: ListedOrders = LONG) {
  const who = createStorage<string>();
  const calls: {
    readonly who: string | undefined;
    readonly answer: () => void;
    readonly fail: (error: Error) => void;
  }[] = [];
  const asker = createAsker(
    () =>
      new Promise<ListedOrders>((resolve, reject) => {
        calls.push({ who: who.getStore(), answer: () => resolve(listed), fail: reject });
      }),
  );
  const ask = (key: string, isAborted?: () => boolean) => who.run(key, () => asker(key, isAborted));
  return { ask, calls, callers: () => calls.map((call) => call.who) };
}

test('a key makes one long array at a time, and its store is asked when its turn comes, beginning with the first list', async () => {
  const { ask, calls } = createSlowStore();
  const replies = Array.from({ length: 10 }, () => ask('ann'));
  for (let count = 1; count <= 10; count++) {
    await until(() => calls.length >= count);
    await settled();
    assert.equal(calls.length, count);
    calls[count - 1]?.answer();
  }
  for (const { status } of await Promise.all(replies)) assert.equal(status, 200);
});

test('a crowd of one key delays another key by no list, and a crowd of many keys by one list of each', async () => {
  const { ask, calls, callers } = createSlowStore();
  const replies = [...Array.from({ length: 20 }, () => ask('ann')), ask('bob')];
  await settled();
  assert.deepEqual(callers(), ['ann', 'bob']);
  for (const key of ['cid', 'dan', 'eve', 'fay', 'cid', 'dan']) replies.push(ask(key));
  await settled();
  assert.deepEqual(callers(), ['ann', 'bob', 'cid', 'dan'], 'at most four keys make a list at the same time');
  for (let ended = 0; ended < 27; ended++) {
    calls[ended]?.answer();
    await settled();
  }
  assert.deepEqual(callers().slice(4, 11), ['eve', 'fay', 'ann', 'cid', 'dan', 'ann', 'ann']);
  await Promise.all(replies);
});

test('a client that hangs up while it waits leaves the queue, without a call of the store', async () => {
  const { ask, calls } = createSlowStore();
  let hasHungUp = false;
  const served = [ask('ann')];
  const waiting = [ask('ann', () => hasHungUp), ask('ann', () => hasHungUp)];
  served.push(ask('ann'));
  await settled();
  hasHungUp = true;
  served.push(ask('ann'));
  const gone = await Promise.all(waiting);
  assert.deepEqual([gone.map(({ status }) => status), calls.length], [[408, 408], 1]);
  for (let ended = 0; ended < 3; ended++) {
    calls[ended]?.answer();
    await settled();
  }
  for (const { status } of await Promise.all(served)) assert.equal(status, 200);
  assert.equal(calls.length, 3);
});

test('a store that never answers holds the turn of that key only, and after a second its place too', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { ask, calls, callers } = createSlowStore();
  for (const key of ['ann', 'bob', 'cid', 'dan', 'ann', 'eve']) void ask(key);
  await settled();
  assert.deepEqual(callers(), ['ann', 'bob', 'cid', 'dan']);
  t.mock.timers.tick(1_000);
  await settled();
  assert.deepEqual(callers(), ['ann', 'bob', 'cid', 'dan', 'eve']);
  calls[0]?.answer();
  await settled();
  assert.equal(callers().at(-1), 'ann');
});

test('a request that has waited for 5 s gets a 503, and is not made; a later one gets its turn', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { ask, calls } = createSlowStore();
  const first = ask('ann');
  const late = [ask('ann'), ask('ann')];
  await settled();
  t.mock.timers.tick(4_999);
  const served = ask('ann');
  await settled();
  t.mock.timers.tick(1);
  assert.deepEqual(
    (await Promise.all(late)).map(({ status }) => status),
    [503, 503],
  );
  calls[0]?.answer();
  await settled();
  assert.equal(calls.length, 2);
  calls[1]?.answer();
  for (const { status } of [await first, await served]) assert.equal(status, 200);
});

test('lists that turn out to be short or to have a version need no turns', async () => {
  for (const [count, listed] of [
    [9, manyOrders(1)],
    [50, Object.assign(manyOrders(1), { version: 1 })],
  ] as const) {
    const { ask, calls } = createSlowStore(listed);
    const replies = Array.from({ length: count }, () => ask('ann'));
    await settled();
    assert.equal(calls.length, 1, 'nobody knows yet that the list is short');
    calls[0]?.answer();
    await settled();
    assert.equal(calls.length, count);
    for (const { answer } of calls) answer();
    for (const { status } of await Promise.all(replies)) assert.equal(status, 200);
  }
});

test('a list that grows long without a version takes turns from then on', async () => {
  let listed = manyOrders(1);
  let calls = 0;
  const ask = createAsker(async () => {
    calls++;
    return listed;
  });
  await ask();
  listed = LONG;
  for (const { status } of await Promise.all([ask(), ask(), ask()])) assert.equal(status, 200);
  assert.equal(calls, 1 + 2 * 3, 'each request drops its array and asks again in its turn');
  await Promise.all([ask(), ask()]);
  assert.equal(calls, 7 + 2);
});

test('a key waits for at most eight lists of a store that has listed short arrays, and for one in its turn', async () => {
  const { ask, calls, callers } = createSlowStore(manyOrders(1));
  const replies = [ask('ann')];
  await settled();
  calls[0]?.answer();
  await Promise.all(replies);
  for (let n = 0; n < 20; n++) replies.push(ask('ann'));
  for (const key of ['bob', 'cid', 'dan', 'eve', 'fay']) replies.push(ask(key));
  await settled();
  assert.deepEqual(callers().slice(1), [...Array(9).fill('ann'), 'bob', 'cid', 'dan', 'eve', 'fay']);
  for (let round = 0; round < 3; round++) {
    for (const { answer } of calls) answer();
    await settled();
    if (round === 0) assert.deepEqual(callers().slice(15), Array(9).fill('ann'), 'nine ask again');
  }
  for (const { status } of await Promise.all(replies)) assert.equal(status, 200);
  replies.push(ask('ann'));
  await settled();
  assert.equal(calls.length, 27, 'the key waits for no list, so it is asked for at once');
});

test('each waiting request asks the store in its own context, and is given what the store returns to it', async () => {
  const requester = createStorage<number>();
  const ask = createAsker(async () => LONG.map(({ id }) => ({ id, quantity: requester.getStore() })));
  const replies = [1, 2, 3, 4, 5].map((who) => requester.run(who, () => ask('ann')));
  for (const [index, { text }] of (await Promise.all(replies)).entries()) {
    assert.match(text, new RegExp(`^\\[\\{"id":0,"quantity":${index + 1}\\}`));
  }
});

test('of a key that asks for long arrays, 32 requests wait, and others get a 503 at once; other keys go on', async () => {
  const { ask, calls } = createSlowStore();
  const first = ask('ann');
  await settled();
  calls[0]?.answer();
  await first;
  const replies = Array.from({ length: 40 }, () => ask('ann'));
  const refused = await Promise.all(replies.splice(33));
  assert.deepEqual(
    refused.map(({ status }) => status),
    Array(7).fill(503),
  );
  replies.push(ask('bob'));
  for (let ended = 1; ended <= 34; ended++) {
    await settled();
    calls[ended]?.answer();
  }
  for (const { status } of await Promise.all(replies)) assert.equal(status, 200);
});

test('an array that the host changes while it waits or is serialised is listed as it was when the turn came', async () => {
  const listed = manyOrders(1_200);
  const ask = createAsker(() => listed);
  const replies = [ask(), ask()];
  listed.length = 600;
  const texts = (await Promise.all(replies)).map(({ text }) => JSON.parse(text).length);
  assert.deepEqual(texts, [1_200, 600]);
});

test('the mounts for node:http and fetch tell the service when a client has hung up', async (t) => {
  const calls: (() => void)[] = [];
  const list = () => new Promise<ListedOrders>((resolve) => calls.push(() => resolve(LONG)));
  const { service } = createShop({ store: fakeStore({ list }) });
  const statuses: number[] = [];
  t.after(onReplies(({ status }) => statuses.push(status)));
  // With this option of Node.js 24, the request itself does not tell.
  const options = { optimizeEmptyRequests: true, noDelay: true };
  const server = createServer(options, nodeHandler(service));
  const port = await serve(t, server);
  const handle = fetchHandler(service);
  const controller = new AbortController();
  const first = handle(new Request(`http://a${ORDERS}`, { headers: [KEY] }));
  await until(() => calls.length === 1);
  const aborted = handle(new Request(`http://a${ORDERS}`, { headers: [KEY], signal: controller.signal }));
  const arrived = once(server, 'request');
  const socket = open(port, getHead());
  const [, response] = await arrived;
  controller.abort();
  socket.destroy();
  await once(response, 'close');
  calls[0]?.();
  await Promise.all([first, aborted]);
  await until(() => statuses.length === 3);
  assert.deepEqual([statuses.sort(), calls.length], [[200, 408, 408], 1]);
});
