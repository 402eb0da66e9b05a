import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from '../server/support/program.js';
import { median, spread } from '../support/figures.js';
import { ROUNDS, seededRandom } from '../support/rounds.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { type Answer, countedToday, createClient } from './support/client.js';
import { createOrderFile, type OrderFile, QUOTA } from './support/order-file.js';

const CLIENTS = 50;
/** There are so many orders that few clients have finished before the server is killed. */
const CANCELS_PER_CLIENT = 10;
const CANCELS = CLIENTS * CANCELS_PER_CLIENT;
/** The longest time from the first cancel until the server is killed. */
const LIFE_MS = 90;
const START_MS = 2_000;
const FORGOTTEN_MS = 1_000;
/**
 * No order has this id. A request to cancel it is charged to the quota and changes nothing else.
 */
const NO_ORDER = 0n;

test(`${ROUNDS} servers are killed while ${CLIENTS} clients cancel orders: no acknowledged cancel is lost`, async (t) => {
  const random = seededRandom(t);
  const orders = await createOrderFile(temporaryDirectory(), ROUNDS * CANCELS);
  const asked = new Set<bigint>();
  const promised = new Set<bigint>();
  const startsMs: number[] = [];
  let inTheMiddle = 0;

  let life = await start(t, orders);
  for (let round = 0; round < ROUNDS; round++) {
    const { server, connect } = life;
    const ids = orders.next(CANCELS);
    for (const id of ids) asked.add(id);
    const before = promised.size;
    const clients = Array.from({ length: CLIENTS }, async (_, index) => {
      const client = connect();
      for (const id of ids.slice(index * CANCELS_PER_CLIENT, (index + 1) * CANCELS_PER_CLIENT)) {
        // A rejection means that the server has ended, and that the cancel was not acknowledged.
        const answer = await client.cancel(id).catch(() => undefined);
        if (answer === undefined) break;
        assert.equal(answer.status, 204);
        promised.add(id);
      }
      client.close();
    });
    await sleep(random() * LIFE_MS);
    assert.equal(await server.stop('SIGKILL'), 'SIGKILL');
    await Promise.all(clients);
    if (promised.size > before && promised.size < before + CANCELS) inTheMiddle++;

    life = await start(t, orders);
    startsMs.push(life.startMs);
    const { cancelled } = orders.look();
    assert.deepEqual(without(promised, cancelled), [], 'an order is not cancelled although a client got 204');
    assert.deepEqual(without(cancelled, asked), [], 'an order is cancelled although no client asked for it');
  }

  t.diagnostic(`${promised.size} times 204 for ${asked.size} cancels, 0 lost; ${inTheMiddle} kills during cancels`);
  t.diagnostic(`start to first response: ${spread(startsMs)}`);
  assert.ok(inTheMiddle >= ROUNDS / 10, `only ${inTheMiddle} servers were killed between the first 204 and the last`);
  // Asserts the median rather than the slowest, because other work on the machine can delay any
  // single start.
  assert.ok(median(startsMs) <= START_MS);
});

test('after a server is killed, the saved quotas lack at most the requests of its last second', async (t) => {
  const random = seededRandom(t);
  const orders = await createOrderFile(temporaryDirectory(), 1);
  const kills = Math.ceil(ROUNDS / 10);
  let forgotten = 0;

  let life = await start(t, orders);
  for (let round = 0; round < kills; round++) {
    const { server, first, connect } = life;
    const answers = [first];
    const client = connect();
    const killed = sleep(FORGOTTEN_MS * (0.5 + 1.5 * random())).then(() => server.stop('SIGKILL'));
    for (;;) {
      const answer = await client.cancel(NO_ORDER).catch(() => undefined);
      if (answer === undefined) break;
      answers.push(answer);
      await sleep(3);
    }
    client.close();
    assert.equal(await killed, 'SIGKILL');

    life = await start(t, orders);
    const left = countedToday(life.first, QUOTA) - 1;
    const answeredMs = ({ sentMs, tookMs }: Answer) => sentMs + tookMs;
    const lastMs = Math.max(...answers.map(answeredMs));
    const counted = (some: readonly Answer[]) => Math.max(0, ...some.map((answer) => countedToday(answer, QUOTA)));
    // The server may also have counted a request that got no response.
    const kept = counted(answers.filter((answer) => answeredMs(answer) <= lastMs - FORGOTTEN_MS));
    assert.ok(left >= kept, `${kept} requests were counted a second before the kill, but only ${left} after it`);
    forgotten += Math.max(0, counted(answers) - left);
  }
  t.diagnostic(`${kills} kills lost the counts of ${forgotten} requests`);
});

/** Starts a server and sends it a first request. */
async function start(t: TestContext, { cwd, key }: OrderFile) {
  const startedMs = performance.now();
  const server = await startServer(t, { cwd }, '--log', 'events');
  const connect = () => createClient(server.url, key.key);
  const client = connect();
  const first = await client.cancel(NO_ORDER);
  client.close();
  assert.equal(first.status, 404);
  return { server, first, connect, startMs: performance.now() - startedMs };
}

function without(ids: ReadonlySet<bigint>, others: ReadonlySet<bigint>): readonly bigint[] {
  return [...ids].filter((id) => !others.has(id));
}
