import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { API_KEY } from './servers/orders.js';

/** How many cancels a second were answered, and the one that took longest. */
export interface CancelFigures {
  readonly rate: number;
  readonly slowestMs: number;
}

/**
 * Cancels order after order over `connections` keep-alive connections, for a while or until something has happened.
 * It reads no more of an answer than it must: a client that reads HTTP as it should takes more of the machine than the
 * server that is measured.
 */
export async function cancelFor(
  period: number | Promise<unknown>,
  url: string,
  connections: number,
  nextId: () => number,
): Promise<CancelFigures> {
  const { hostname, port } = new URL(url);
  const startMs = performance.now();
  let cancelled = 0;
  let slowestMs = 0;
  let tookMs: number | undefined;
  const over = typeof period === 'number' ? new Promise((resolve) => setTimeout(resolve, period)) : period;
  const timed = over.then(() => {
    tookMs = performance.now() - startMs;
  });
  const work = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      let sentMs = 0;
      const send = () => {
        sentMs = performance.now();
        socket.write(
          `DELETE /v1/store/orders/${nextId()} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${API_KEY}\r\n\r\n`,
          'latin1',
        );
      };
      socket.setNoDelay(true).setEncoding('latin1').once('connect', send).once('error', reject);
      socket.on('data', (answer) => {
        if (!`${answer}`.startsWith('HTTP/1.1 204 ') || !`${answer}`.endsWith('\r\n\r\n')) {
          socket.destroy(new Error(`not cancelled: ${answer}`));
          return;
        }
        slowestMs = Math.max(slowestMs, performance.now() - sentMs);
        if (tookMs === undefined) {
          cancelled++;
          send();
        } else {
          socket.end();
          resolve();
        }
      });
    });
  await Promise.all([timed, ...Array.from({ length: connections }, work)]);
  return { rate: cancelled / ((tookMs ?? 0) / 1_000), slowestMs };
}

/** Lists once a millisecond for a while, and answers with how long each took, in milliseconds, ascending. */
export async function listFor(ms: number, url: string): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true });
  const endMs = performance.now() + ms;
  const durationsMs: number[] = [];
  while (performance.now() < endMs) {
    durationsMs.push(await list(`${url}/v1/store/orders`, agent));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  agent.destroy();
  return durationsMs.sort((a, b) => a - b);
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
