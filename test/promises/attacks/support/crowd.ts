import { once } from 'node:events';
import { Agent, get, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How many orders the server has, with the ids from 1. */
export const ORDERS = 20_000;

/** What the customers of a crowd got: how many responses of each status, by what they did. */
export type Served = Record<string, number>;

interface Crowd {
  readonly url: URL;
  /** Creates a key with a plan. */
  readonly createKey: (plan: string) => Promise<{ readonly key: string; readonly id: string }>;
  /** Replaces a key, or revokes it. Without it, no customer does. */
  readonly changeKey?: (how: 'rotate' | 'revoke', id: string) => Promise<string>;
  /** Adds an order to those that are listed. */
  readonly addOrder: () => Promise<unknown>;
}

/**
 * Lets customers with valid keys use a server in every way for some seconds: lists and conditional
 * lists, cancels, lists that are read slowly, keys over their quota and banned, connections that are
 * cut at any moment, and keys that are replaced and revoked while they are used. Meanwhile, an order
 * is added about each second. On a busy machine it takes longer: until the pauses of each customer
 * add up to a quarter of the time.
 */
export async function runCrowd({ url, createKey, changeKey, addOrder }: Crowd, seconds: number): Promise<Served> {
  const endMs = performance.now() + seconds * 1_000;
  const served: Served = {};
  const agent = new Agent({ keepAlive: true });
  const path = `${url.pathname}/store/orders`;

  function count(who: string, result: unknown): void {
    served[`${who} ${result}`] = (served[`${who} ${result}`] ?? 0) + 1;
  }

  async function ask(key: string, method = 'GET', id = '', fields = {}) {
    const headers = { authorization: `Bearer ${key}`, ...fields };
    const target = `${url.origin}${path}${id}`;
    const sent = request(target, { agent, method, headers, signal: AbortSignal.timeout(30_000) }).end();
    const [response] = await once(sent, 'response');
    await once(response.resume(), 'end');
    return response;
  }

  async function repeat(who: string, pauseMs: number, act: (round: number) => Promise<unknown>): Promise<void> {
    for (let round = 0; performance.now() < endMs || round * pauseMs < seconds * 250; round++) {
      count(who, await act(round).catch((error) => error.code ?? error.name));
      await sleep(pauseMs);
    }
  }

  async function list(key: string): Promise<void> {
    let tag = '';
    await repeat('list', 150, async (round) => {
      const codings = { 'accept-encoding': ['identity', 'gzip', 'br'][round % 3] };
      const { statusCode, headers } = await ask(key, 'GET', '', { ...codings, 'if-none-match': tag });
      tag = headers.etag ?? tag;
      return statusCode;
    });
  }

  /** Reads a list at some 20 kB/s for a while, then hangs up. */
  function readSlowly(key: string): Promise<void> {
    return repeat('slow list', 500, async (round) => {
      const socket = connect(Number(url.port), url.hostname).on('error', () => {});
      socket.pause().write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      for (let reads = 0; reads < 5 + (round % 10) && performance.now() < endMs; reads++) {
        await sleep(200);
        socket.read(4_096);
      }
      socket.destroy();
      return 'read';
    });
  }

  function hangUp(key: string): Promise<void> {
    return repeat('hang-up', 20, async () => {
      const sent = get(`${url.origin}${path}`, { agent: false, headers: { authorization: `Bearer ${key}` } });
      sent.on('error', () => {});
      await sleep(Math.random() * 30);
      sent.destroy();
      return 'cut';
    });
  }

  async function replaceKeys(): Promise<void> {
    if (changeKey === undefined) return;
    await repeat('new key', 1_000, async () => {
      const { key, id } = await createKey('pro');
      const first = await ask(key);
      const replaced = await changeKey('rotate', id);
      const second = await ask(replaced);
      await changeKey('revoke', id);
      // Keys in use are read again about once a second.
      await sleep(1_500);
      const statuses = [first, second, await ask(key), await ask(replaced)].map(({ statusCode }) => statusCode);
      return statuses.join(' ');
    });
  }

  const newKey = async (plan: string) => (await createKey(plan)).key;
  const cancelling = await newKey('business');
  const refused = await newKey('free');
  await Promise.all([
    list(await newKey('business')),
    list(await newKey('business')),
    readSlowly(await newKey('business')),
    readSlowly(await newKey('business')),
    hangUp(await newKey('business')),
    hangUp(await newKey('business')),
    replaceKeys(),
    repeat('cancel', 100, async () => {
      const { statusCode } = await ask(cancelling, 'DELETE', `/${1 + Math.floor(Math.random() * ORDERS)}`);
      return statusCode;
    }),
    repeat('order', 1_000, async () => {
      await addOrder();
      return 'added';
    }),
    repeat('refused', 20, async () => (await ask(refused)).statusCode),
  ]);
  agent.destroy();
  return served;
}
