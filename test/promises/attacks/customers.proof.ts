import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueKey, programIn, programWithOrders, startServer } from '../../program/support/program.js';
import { connectFrom, KEYED } from '../../server/support/client.js';
import { attack } from './support/under-attack.js';

const SECONDS = Number(process.env['STORE_ORDERS_SECONDS'] ?? 3);

const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

interface Attack {
  readonly kind: string;
  readonly connections: number;
  /** How many orders the server has. */
  readonly orders: number;
  readonly plan: string;
  readonly keys: number;
  /** The attacker's address, or the number of its addresses. */
  readonly from: string;
  /** How many files the server may have open. */
  readonly files: number;
}

/**
 * Lets keys open connections, and ask on each. Meanwhile, a customer sends each request on a new
 * connection. Returns how many of them got which status.
 */
async function customerBeside(t: TestContext, { kind, connections, orders, plan, keys: count, from, files }: Attack) {
  const under = ['sh', '-c', `ulimit -n ${files}; exec "$0" "$@"`];
  const { cwd } = orders > 0 ? await programWithOrders(orders) : programIn();
  const server = await startServer(t, { cwd, under }, '--log', 'events');
  const { key } = await issueKey(server.cwd, 'business');
  const keys: string[] = [];
  while (keys.length < count) keys.push((await issueKey(server.cwd, plan)).key);
  const port = Number(new URL(server.url).port);
  const served: Record<string, number> = {};

  async function ask(name: string, request: string): Promise<void> {
    const startMs = performance.now();
    const client = await connectFrom(port);
    const answer = client.ask(request);
    const sentMs = performance.now() - startMs;
    const status = await Promise.race([answer, sleep(10_000, 'nothing')]);
    client.socket.destroy();
    // A new connection keeps its place for a moment. Here, this process sent the request too late.
    if (status === 'closed' && sentMs > 20) return ask(name, request);
    served[`${name} ${status}`] = (served[`${name} ${status}`] ?? 0) + 1;
  }

  const fillingSeconds = 3;
  const attacking = attack(kind, new URL(server.url), fillingSeconds + SECONDS, connections, from, keys);
  await sleep(fillingSeconds * 1_000);
  for (let n = 0; n < 10 * SECONDS; n++) {
    await ask('list', KEYED.replace('ours', key));
    if (n % 5 === 0) await ask('health', HEALTH);
    await sleep(50);
  }
  t.diagnostic(`${JSON.stringify(served)} beside ${JSON.stringify(await attacking)}`);
  return served;
}

const ASKING = { kind: 'valid keys', connections: 1_200, orders: 0 };
const READING = { kind: 'slow lists', connections: 200, orders: 100_000 };

for (const [says, beside] of [
  [
    'a key that is banned, on 1,024 connections of its address',
    { ...ASKING, plan: 'free', keys: 1, from: '127.0.0.1', files: 4_096 },
  ],
  ['a key that is banned, on every descriptor', { ...ASKING, plan: 'free', keys: 1, from: '20', files: 512 }],
  [
    'forty keys within their quotas, on every descriptor',
    { ...ASKING, plan: 'business', keys: 40, from: '20', files: 512 },
  ],
  [
    'a key within its quota that reads lists slowly on every descriptor, with others pending',
    { ...READING, plan: 'business', keys: 1, from: '20', files: 160 },
  ],
] as const) {
  test(`a customer and probes get every response beside ${says}`, async (t) => {
    assert.deepEqual(await customerBeside(t, beside), { 'list 200': 10 * SECONDS, 'health 200': 2 * SECONDS });
  });
}
