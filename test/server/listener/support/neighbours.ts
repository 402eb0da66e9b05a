import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryDirectory } from '../../../support/temporary-file.js';
import { issueKey, startServer } from '../../support/program.js';
import { attack, type Customer, customer, quantile, residentMiB } from './under-attack.js';

/** What a customer got within some time. */
interface Share {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

function shareOf({ take }: Customer, seconds: number): Share {
  const latencies = take();
  const [p50, p99, most] = [0.5, 0.99, 1].map((part) => quantile(latencies, part));
  return { perSecond: latencies.length / seconds, p50: p50 ?? 0, p99: p99 ?? 0, most: most ?? 0 };
}

/**
 * Measures a customer of the program, first alone and then beside strangers. The customer has open
 * connections, and also opens a new one for each of some requests. The program has a heap of 512
 * MB.
 */
export async function besideStrangers(
  t: TestContext,
  { kind, connections, from, seconds }: { kind: string; connections: number; from: string; seconds: number },
): Promise<void> {
  const cwd = temporaryDirectory();
  const env = { NODE_OPTIONS: '--max-old-space-size=512' };
  const server = await startServer(t, { cwd, env }, '--log', 'events');
  const { key } = await issueKey(cwd, 'enterprise', '--per-day', '1000000000');
  const url = new URL(`${server.url}/store/orders`);
  const customers = [customer(url, key, 2, 10), customer(url, key, 2, 20, true)] as const;
  await sleep(500);
  for (const { take } of customers) take();
  await sleep(seconds * 500);
  const [regularAlone, newcomerAlone] = [shareOf(customers[0], seconds / 2), shareOf(customers[1], seconds / 2)];
  const startMs = performance.now();
  const { [kind]: sent } = await attack(kind, url, seconds, connections, from);
  const tookS = (performance.now() - startMs) / 1_000;
  const [regular, newcomer] = [shareOf(customers[0], tookS), shareOf(customers[1], tookS)];
  const memory = residentMiB(server.child.pid);
  await Promise.all(customers.map(({ stop }) => stop()));
  for (const [who, alone, beside] of [
    ['open connections', regularAlone, regular],
    ['new connections', newcomerAlone, newcomer],
  ] as const) {
    t.diagnostic(
      `${who}: ${alone.perSecond.toFixed(0)} → ${beside.perSecond.toFixed(0)} a second, ` +
        `p50 ${alone.p50.toFixed(1)} → ${beside.p50.toFixed(1)} ms, p99 ${alone.p99.toFixed(1)} → ${beside.p99.toFixed(1)} ms, ` +
        `most ${beside.most.toFixed(0)} ms`,
    );
  }
  t.diagnostic(`${memory.toFixed(0)} MiB; ${JSON.stringify(sent)}`);
  assert.equal(server.child.exitCode, null);
  for (const { failures } of customers) assert.deepEqual(failures, []);
  // Other work on the machine would break these bounds, so they hold only where nothing else runs.
  if (process.env['STORE_ORDERS_IDLE'] !== '1') return;
  assert.ok(newcomer.p99 <= 500, `${newcomer.p99} ms`);
  assert.ok(regular.perSecond >= regularAlone.perSecond / 2, `${regular.perSecond} a second`);
}
