import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningServer, startServer } from '../../program/support/program.js';
import { median, spread } from '../../support/figures.js';
import { ROUNDS, seededRandom } from '../../support/rounds.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { type Client, countedToday, createClient, mayFail } from './support/client.js';
import { without } from './support/found.js';
import { createOrderFile, QUOTA } from './support/order-file.js';

const STOPS = Math.ceil(ROUNDS / 4);
const CLIENTS = 50;
const CANCELS_PER_CLIENT = 10;
const CANCELS = CLIENTS * CANCELS_PER_CLIENT;
/**
 * How many of the clients also list orders. A list takes so long that the signal often arrives in
 * the middle of its response.
 */
const LISTERS = 8;
/** No order has this id. A request to cancel it is charged to the quota and changes nothing else. */
const NO_ORDER = 0n;
/**
 * The longest pause between two requests of a client. Only every second client pauses. The pause is
 * longer than a request takes, so that these connections are often idle when the server closes
 * them. A request that a client sends at that moment could be lost.
 */
const REST_MS = 20;
const START_MS = process.env['STORE_ORDERS_IDLE'] === '1' ? 5_000 : 30_000;

/**
 * Starts servers on the same file, one after the other. Clients send requests to each of them, and
 * after a random number of responses it gets the signal. The first `listers` clients also list
 * orders. Returns what the clients saw, and the last server, which got no signal.
 */
async function endUnderLoad(t: TestContext, signal: 'SIGTERM' | 'SIGKILL', rounds: number, listers = 0) {
  const random = seededRandom(t);
  const orders = await createOrderFile(temporaryDirectory(), rounds * CANCELS);
  const [asked, promised] = [new Set<bigint>(), new Set<bigint>()];
  /** Errors of requests on a connection whose end the server had not announced. */
  const lost: string[] = [];
  const startsMs: number[] = [];
  const exitsMs: number[] = [];
  let answered = 0;
  let isTold = false;

  async function start(): Promise<RunningServer> {
    const startMs = performance.now();
    const server = await startServer(t, { cwd: orders.cwd }, '--log', 'events');
    assert.equal((await server.get('none')).status, 401);
    startsMs.push(performance.now() - startMs);
    isTold = false;
    return server;
  }

  async function work(client: Client, ids: readonly bigint[], restMs: number, isLister: boolean): Promise<void> {
    for (let turn = 0; ; turn++) {
      const id = isLister && turn % 4 === 3 ? undefined : (ids[turn] ?? NO_ORDER);
      if (id !== undefined && id !== NO_ORDER) asked.add(id);
      const request = id === undefined ? client.list() : client.cancel(id);
      const answer = await request.catch((error: unknown) => {
        if (!isTold || !mayFail(error, client)) lost.push(String(error));
        return undefined;
      });
      if (answer === undefined) break;
      assert.equal(answer.status, id === undefined ? 200 : id === NO_ORDER ? 404 : 204);
      answered++;
      if (id !== undefined && answer.status === 204) promised.add(id);
      await sleep(restMs * random());
    }
    client.close();
  }

  let server = await start();
  for (let round = 0; round < rounds; round++) {
    // All clients connect before the load begins, because a stopping server refuses connections
    // that it has not accepted.
    const clients = Array.from({ length: CLIENTS }, () => createClient(server.url, orders.key.key));
    await Promise.all(clients.map((client) => client.cancel(NO_ORDER)));
    answered += CLIENTS;
    const goal = answered + random() * (CANCELS / 2);
    const working = clients.map((client, index) =>
      work(client, orders.next(CANCELS_PER_CLIENT), index % 2 === 0 ? 0 : REST_MS, index < listers),
    );
    await until(() => answered >= goal);
    await sleep(random() * 10);
    isTold = true;
    const toldMs = performance.now();
    assert.equal(await server.stop(signal), signal === 'SIGTERM' ? 0 : signal);
    exitsMs.push(performance.now() - toldMs);
    await Promise.all(working);

    server = await start();
    assert.deepEqual(without(promised, orders.look().cancelled), [], 'a cancel that got 204 is lost');
  }
  t.diagnostic(`${answered} requests answered, ${promised.size} of ${asked.size} cancels with 204`);
  t.diagnostic(`start to first response: ${spread(startsMs)}; signal to exit: ${spread(exitsMs)}`);
  return { orders, server, asked, promised, lost, answered, startsMs };
}

test(`${ROUNDS} servers are killed while ${CLIENTS} clients cancel orders: no acknowledged cancel is lost`, async (t) => {
  const { orders, asked, promised, startsMs } = await endUnderLoad(t, 'SIGKILL', ROUNDS);
  assert.deepEqual(
    without(orders.look().cancelled, asked),
    [],
    'an order is cancelled although no client asked for it',
  );
  const inFlight = asked.size - promised.size;
  assert.ok(inFlight >= ROUNDS, `only ${inFlight} cancels were in flight when a server was killed`);
  // Asserts the median rather than the slowest, because other work on the machine can delay any
  // single start.
  assert.ok(median(startsMs) <= START_MS);
});

test(`${STOPS} servers get SIGTERM under load: no request is lost`, async (t) => {
  const { orders, server, promised, lost, answered } = await endUnderLoad(t, 'SIGTERM', STOPS, LISTERS);
  assert.deepEqual(lost, []);
  const client = createClient(server.url, orders.key.key);
  const counted = countedToday(await client.list(), QUOTA);
  client.close();
  assert.equal(counted, answered + 1, 'every request with a response was counted exactly once');
  // No response was lost, so exactly those orders are cancelled whose 204 arrived.
  assert.deepEqual(orders.look().cancelled, promised);
});
