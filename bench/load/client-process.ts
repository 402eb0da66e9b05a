import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { API_KEY } from '../servers/orders.js';
import type { CancelTask, ListTask } from './clients.js';

const SECOND_MS = 1_000;

let isEnough = false;
process.on('message', async (task: CancelTask | ListTask | 'enough') => {
  isEnough = task === 'enough';
  if (task === 'enough') return;
  const durationsMs = task.what === 'cancel' ? cancelFor(task) : listFor(task);
  process.send?.(await durationsMs.catch((error: Error) => error.message));
});
process.once('disconnect', () => process.exit());

/**
 * Sends one cancellation after the other on each keep-alive connection. Parses as little of a
 * response as possible, because a complete HTTP client would use more processor time than the
 * measured server.
 */
async function cancelFor(task: CancelTask): Promise<readonly number[]> {
  const { url, ms, connections, offset, stride, range, fromIndex, perSecond } = task;
  const { hostname, port } = new URL(url);
  const startMs = performance.now();
  const durationsMs: number[] = [];
  const everyMs = perSecond === 0 ? 0 : (connections * SECOND_MS) / perSecond;
  let index = fromIndex;

  const work = (place: number) =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      let dueMs = startMs + (place / connections) * everyMs;
      let sentMs = 0;
      function end(): void {
        socket.end();
        resolve();
      }
      function send(): void {
        // On a fast machine, the client can run out of orders before the time ends.
        if (index >= range) {
          end();
          return;
        }
        const id = offset + ((index++ * stride) % range);
        const head = `DELETE /v1/store/orders/${id} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${API_KEY}\r\n\r\n`;
        sentMs = performance.now();
        socket.write(head, 'latin1');
      }
      function sendWhenDue(): void {
        dueMs += everyMs;
        if (everyMs === 0) send();
        else setTimeout(send, dueMs - performance.now());
      }
      socket.setNoDelay(true).setEncoding('latin1').once('connect', sendWhenDue).once('error', reject);
      socket.on('data', (answer) => {
        const nowMs = performance.now();
        if (!`${answer}`.startsWith('HTTP/1.1 204 ') || !`${answer}`.endsWith('\r\n\r\n')) {
          socket.destroy(new Error(`not cancelled: ${answer}`));
          return;
        }
        durationsMs.push(nowMs - sentMs);
        if (nowMs - startMs < ms && !isEnough) sendWhenDue();
        else end();
      });
    });
  await Promise.all(Array.from({ length: connections }, (_, place) => work(place)));
  return durationsMs;
}

/** Requests the list again and again, with a pause of 1 ms after each response. */
async function listFor({ url, ms }: ListTask): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true });
  const endMs = performance.now() + ms;
  const durationsMs: number[] = [];
  while (performance.now() < endMs) {
    durationsMs.push(await list(`${url}/v1/store/orders`, agent));
    await wait(1);
  }
  agent.destroy();
  return durationsMs;
}

function list(url: string, agent: Agent): Promise<number> {
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { authorization: `Bearer ${API_KEY}` } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
      response.resume().on('end', () => resolve(performance.now() - startMs));
    }).on('error', reject);
  });
}
