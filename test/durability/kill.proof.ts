import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningServer, startServer } from '../server/support/program.js';
import { median, spread } from '../support/figures.js';
import { ROUNDS, seededRandom } from '../support/rounds.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { type Answer, type Client, countedToday, createClient } from './support/client.js';
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
    const ids = orders.next(CANCELS);
    for (const id of ids) asked.add(id);
    const cancelled = await killDuringCancels(life, ids, random() * LIFE_MS);
    if (cancelled.length > 0 && cancelled.length < ids.length) inTheMiddle++;
    for (const id of cancelled) promised.add(id);

    const next = await start(t, orders);
    startsMs.push(next.startMs);
    forgottenBetween(life, next);
    await assertCancelled(next, cancelled);
    const found = orders.look();
    assert.deepEqual(without(promised, found.cancelled), [], 'an order is not cancelled although a client got 204');
    assert.deepEqual(without(found.cancelled, asked), [], 'an order is cancelled although no client asked for it');
    life = next;
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
  let counted = 0;
  let forgotten = 0;

  let life = await start(t, orders);
  for (let round = 0; round < kills; round++) {
    await killDuringRequests(life, FORGOTTEN_MS * (0.5 + 1.5 * random()));
    const next = await start(t, orders);
    counted += life.answers.length;
    forgotten += forgottenBetween(life, next);
    life = next;
  }
  t.diagnostic(`${kills} kills lost the counts of ${forgotten} of ${counted} requests`);
});

/** A server, from its start until it is killed. */
interface Life {
  readonly server: RunningServer;
  /** The time from the start of the process to its first response. */
  readonly startMs: number;
  /** All responses that the server has sent. */
  readonly answers: Answer[];
  connect(): Client;
}

async function start(t: TestContext, { cwd, key }: OrderFile): Promise<Life> {
  const startedMs = performance.now();
  const server = await startServer(t, { cwd }, '--log', 'events');
  const answers: Answer[] = [];
  const connect = () => createClient(server.url, key.key, answers);
  const client = connect();
  assert.equal((await client.cancel(NO_ORDER)).status, 404);
  client.close();
  return { server, startMs: performance.now() - startedMs, answers, connect };
}

/**
 * Sends cancels on all connections at the same time until the server is killed. Resolves to the ids
 * of the orders that got 204.
 */
async function killDuringCancels({ server, connect }: Life, ids: readonly bigint[], afterMs: number) {
  const cancelled: bigint[] = [];

  async function cancelUntilKilled(own: readonly bigint[]): Promise<void> {
    const client = connect();
    for (const id of own) {
      // A rejection means that the server has ended. A cancel without a response was not
      // acknowledged.
      const answer = await client.cancel(id).catch(() => undefined);
      if (answer === undefined) break;
      assert.equal(answer.status, 204);
      cancelled.push(id);
    }
    client.close();
  }

  const clients = Array.from({ length: CLIENTS }, (_, client) =>
    cancelUntilKilled(ids.filter((_, index) => index % CLIENTS === client)),
  );
  await sleep(afterMs);
  assert.equal(await server.stop('SIGKILL'), 'SIGKILL');
  await Promise.all(clients);
  return cancelled;
}

/** Sends one request after the other until the server is killed. */
async function killDuringRequests({ server, connect }: Life, afterMs: number): Promise<void> {
  const client = connect();
  const killed = sleep(afterMs).then(() => server.stop('SIGKILL'));
  while ((await client.cancel(NO_ORDER).catch(() => undefined)) !== undefined) await sleep(3);
  client.close();
  assert.equal(await killed, 'SIGKILL');
}

async function assertCancelled({ connect }: Life, ids: readonly bigint[]): Promise<void> {
  const client = connect();
  for (const id of ids) {
    const { status, body } = await client.cancel(id);
    assert.equal(status, 409, `order ${id}`);
    assert.equal(JSON.parse(body).code, 'order_already_cancelled', `order ${id}`);
  }
  client.close();
}

/**
 * Returns the number of requests that the killed server counted, but the next server has forgotten.
 * Asserts that the next server has counted every request whose response arrived at least a second
 * before the last response of the killed server. The next server may also have counted requests
 * that got no response.
 */
function forgottenBetween({ answers }: Life, { answers: [firstAnswer] }: Life): number {
  const answeredMs = ({ sentMs, tookMs }: Answer) => sentMs + tookMs;
  const lastMs = Math.max(...answers.map(answeredMs));
  const old = answers.filter((answer) => answeredMs(answer) <= lastMs - FORGOTTEN_MS);
  const counted = (some: readonly Answer[]) => Math.max(0, ...some.map((answer) => countedToday(answer, QUOTA)));
  assert.ok(firstAnswer !== undefined);
  const left = countedToday(firstAnswer, QUOTA) - 1;
  const kept = counted(old);
  assert.ok(left >= kept, `${kept} requests were counted a second before the kill, but only ${left} after it`);
  return Math.max(0, counted(answers) - left);
}

function without(ids: ReadonlySet<bigint>, others: ReadonlySet<bigint>): readonly bigint[] {
  return [...ids].filter((id) => !others.has(id));
}
