import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from '../server/support/program.js';
import { spread } from '../support/figures.js';
import { ROUNDS, seededRandom } from '../support/rounds.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { type Client, countedToday, createClient, isRefused } from './support/client.js';
import { createOrderFile, QUOTA } from './support/order-file.js';

const SIGNALS = Math.ceil(ROUNDS / 4);
const CLIENTS = 32;
/**
 * How many of the clients also list orders. A list takes so long that the signal often arrives in
 * the middle of its response.
 */
const LISTERS = 8;
const CANCELS_PER_CLIENT = 10;
/**
 * The longest pause between two requests of a client. Only every second client pauses. The pause is
 * longer than a request takes, so that these connections are often idle when the server closes
 * them. A request that a client sends at that moment could be lost.
 */
const REST_MS = 20;
/** No order has this id. A request to cancel it is charged to the quota and changes nothing else. */
const NO_ORDER = 0n;

test(`${SIGNALS} servers get SIGTERM under load: no request is lost`, async (t) => {
  const random = seededRandom(t);
  const orders = await createOrderFile(temporaryDirectory(), SIGNALS * CLIENTS * CANCELS_PER_CLIENT);
  let answered = 0;
  const cancelled: bigint[] = [];
  /**
   * Requests with no response or a truncated one, sent on a connection whose end the server had not
   * announced.
   */
  const lost: string[] = [];
  const exitsMs: number[] = [];

  for (let round = 0; round < SIGNALS; round++) {
    const server = await startServer(t, { cwd: orders.cwd }, '--log', 'events');
    let isTold = false;

    async function work(client: Client, ids: readonly bigint[], restMs: number, isLister: boolean): Promise<void> {
      for (let turn = 0; ; turn++) {
        const id = ids[turn];
        const request = isLister && turn % 4 === 3 ? client.list() : client.cancel(id ?? NO_ORDER);
        try {
          const { status } = await request;
          assert.ok(status < 500, `responded with ${status}`);
          answered++;
          if (status === 204 && id !== undefined) cancelled.push(id);
        } catch (error) {
          if (!isTold || !isRefused(error)) lost.push(String(error));
          break;
        }
        await sleep(restMs * random());
      }
      client.close();
    }

    // All clients connect before the load begins, because a stopping server refuses connections
    // that it has not accepted.
    const clients = Array.from({ length: CLIENTS }, () => createClient(server.url, orders.key.key));
    await Promise.all(clients.map((client) => client.cancel(NO_ORDER)));
    answered += CLIENTS;
    const working = clients.map((client, index) =>
      work(client, orders.next(CANCELS_PER_CLIENT), index % 2 === 0 ? 0 : REST_MS, index < LISTERS),
    );
    await sleep(300 * random());
    isTold = true;
    const startMs = performance.now();
    assert.equal(await server.stop('SIGTERM'), 0);
    exitsMs.push(performance.now() - startMs);
    await Promise.all(working);
  }

  t.diagnostic(`${answered} requests answered, ${cancelled.length} with 204; ${lost.length} lost`);
  t.diagnostic(`signal to exit: ${spread(exitsMs)}`);
  assert.equal(lost.length, 0, `lost: ${[...new Set(lost)]}`);
  const server = await startServer(t, { cwd: orders.cwd });
  const client = createClient(server.url, orders.key.key);
  const counted = countedToday(await client.list(), QUOTA);
  client.close();
  assert.equal(counted, answered + 1, 'every request with a response was counted exactly once');
  // No response was lost, so exactly those orders are cancelled whose 204 arrived.
  assert.deepEqual(orders.look().cancelled, new Set(cancelled));
});
