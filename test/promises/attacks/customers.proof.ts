import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueKey, startServer } from '../../program/support/program.js';
import { connectFrom, KEYED } from '../../server/support/client.js';
import { attack } from './support/under-attack.js';

const SECONDS = Number(process.env['STORE_ORDERS_SECONDS'] ?? 3);

const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

interface Attack {
  readonly plan: string;
  readonly keys: number;
  /** The attacker's address, or the number of its addresses. */
  readonly from: string;
  /** How many files the server may have open. */
  readonly files: number;
}

/**
 * Lets keys open 1,200 connections, and ask on each every two seconds. Meanwhile, a customer sends
 * each request on a new connection. Returns how many of them got which status.
 */
async function customerBeside(t: TestContext, { plan, keys: count, from, files }: Attack) {
  const under = ['sh', '-c', `ulimit -n ${files}; exec "$0" "$@"`];
  const server = await startServer(t, { under }, '--log', 'events');
  const { key } = await issueKey(server.cwd, 'business');
  const keys: string[] = [];
  while (keys.length < count) keys.push((await issueKey(server.cwd, plan)).key);
  const port = Number(new URL(server.url).port);
  const served: Record<string, number> = {};

  async function ask(name: string, request: string): Promise<void> {
    const client = await connectFrom(port);
    const status = await Promise.race([client.ask(request), sleep(10_000, 'nothing')]);
    client.socket.destroy();
    served[`${name} ${status}`] = (served[`${name} ${status}`] ?? 0) + 1;
  }

  const fillingSeconds = 3;
  const attacking = attack('valid keys', new URL(server.url), fillingSeconds + SECONDS, 1_200, from, keys);
  await sleep(fillingSeconds * 1_000);
  for (let n = 0; n < 10 * SECONDS; n++) {
    await ask('list', KEYED.replace('ours', key));
    if (n % 5 === 0) await ask('health', HEALTH);
    await sleep(50);
  }
  t.diagnostic(`${JSON.stringify(served)} beside ${JSON.stringify(await attacking)}`);
  return served;
}

for (const [says, beside] of [
  [
    'a key that is banned, on 1,024 connections of its address',
    { plan: 'free', keys: 1, from: '127.0.0.1', files: 4_096 },
  ],
  ['a key that is banned, on every descriptor', { plan: 'free', keys: 1, from: '20', files: 512 }],
  ['forty keys within their quotas, on every descriptor', { plan: 'business', keys: 40, from: '20', files: 512 }],
] as const) {
  test(`a customer and probes get every response beside ${says}`, async (t) => {
    assert.deepEqual(await customerBeside(t, beside), { 'list 200': 10 * SECONDS, 'health 200': 2 * SECONDS });
  });
}
