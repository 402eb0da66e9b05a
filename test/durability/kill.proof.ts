import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningServer, startServer } from '../server/support/program.js';
import { median, spread } from '../support/figures.js';
import { ROUNDS, seededRandom } from '../support/rounds.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { until } from '../support/until.js';
import { createClient } from './support/client.js';
import { createOrderFile } from './support/order-file.js';

const CLIENTS = 50;
/** There are so many orders that few clients have finished before the server is killed. */
const CANCELS_PER_CLIENT = 10;
const CANCELS = CLIENTS * CANCELS_PER_CLIENT;
const START_MS = 5_000;

test(`${ROUNDS} servers are killed while ${CLIENTS} clients cancel orders: no acknowledged cancel is lost`, async (t) => {
  const random = seededRandom(t);
  const orders = await createOrderFile(temporaryDirectory(), ROUNDS * CANCELS);
  const asked = new Set<bigint>();
  const promised = new Set<bigint>();
  const startsMs: number[] = [];
  let inTheMiddle = 0;

  async function start(): Promise<RunningServer> {
    const startMs = performance.now();
    const server = await startServer(t, { cwd: orders.cwd }, '--log', 'events');
    assert.equal((await server.get('none')).status, 401);
    startsMs.push(performance.now() - startMs);
    return server;
  }

  let server = await start();
  for (let round = 0; round < ROUNDS; round++) {
    const { url, stop } = server;
    const ids = orders.next(CANCELS);
    for (const id of ids) asked.add(id);
    const before = promised.size;
    const clients = Array.from({ length: CLIENTS }, async (_, index) => {
      const client = createClient(url, orders.key.key);
      for (const id of ids.slice(index * CANCELS_PER_CLIENT, (index + 1) * CANCELS_PER_CLIENT)) {
        // A rejection means that the server has ended, and that the cancel was not acknowledged.
        const answer = await client.cancel(id).catch(() => undefined);
        if (answer === undefined) break;
        assert.equal(answer.status, 204);
        promised.add(id);
      }
      client.close();
    });
    const goal = before + random() * (CANCELS / 2);
    await until(() => promised.size >= goal);
    await sleep(random() * 10);
    assert.equal(await stop('SIGKILL'), 'SIGKILL');
    await Promise.all(clients);
    if (promised.size > before && promised.size < before + CANCELS) inTheMiddle++;

    server = await start();
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

function without(ids: ReadonlySet<bigint>, others: ReadonlySet<bigint>): readonly bigint[] {
  return [...ids].filter((id) => !others.has(id));
}
