import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { API_KEY } from './servers/orders.js';

/**
 * Cancels order after order over `connections` keep-alive connections for a while, and answers with the cancels a second.
 * It reads no more of an answer than it must: a client that reads HTTP as it should takes more of the machine than the
 * server that is measured.
 */
export async function cancelFor(ms: number, url: string, connections: number, nextId: () => number): Promise<number> {
  const { hostname, port } = new URL(url);
  const startMs = performance.now();
  let cancelled = 0;
  const work = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      const send = () =>
        socket.write(
          `DELETE /v1/store/orders/${nextId()} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${API_KEY}\r\n\r\n`,
          'latin1',
        );
      socket.setNoDelay(true).setEncoding('latin1').once('connect', send).once('error', reject);
      socket.on('data', (answer) => {
        if (!`${answer}`.startsWith('HTTP/1.1 204 ') || !`${answer}`.endsWith('\r\n\r\n')) {
          socket.destroy(new Error(`not cancelled: ${answer}`));
        } else if (performance.now() - startMs < ms) {
          cancelled++;
          send();
        } else {
          socket.end();
          resolve();
        }
      });
    });
  await Promise.all(Array.from({ length: connections }, work));
  return cancelled / (ms / 1_000);
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
