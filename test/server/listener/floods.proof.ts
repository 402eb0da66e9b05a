import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { issueKey, startServer } from '../support/program.js';
import { attack, customer, quantile } from './support/under-attack.js';

const SECONDS = Number(process.env['STORE_ORDERS_SECONDS'] ?? 10);

/**
 * Kinds of flood from many addresses, each with its number of connections. Every kind exceeds the
 * server's capacity. The clients send requests as fast as the server reads them, or open a new
 * connection as soon as the last one is closed.
 */
const FLOODS = [
  ['without a key', 200],
  ['made-up keys', 200],
  ['connections', 200],
] as const;

for (const [kind, connections] of FLOODS) {
  test(`customers are served during a flood: ${kind}`, async (t) => {
    const cwd = temporaryDirectory();
    const server = await startServer(t, { cwd }, '--log', 'events');
    const { key } = await issueKey(cwd, 'enterprise', '--per-day', '1000000000');
    const url = new URL(`${server.url}/store/orders`);
    // 20 clients send at most 25 requests a second each. This is far below the server's capacity,
    // so only the flood can cost them responses.
    const customers = customer(url, key, 20, 40);
    await sleep(2_000);
    customers.take();

    const goodput: Record<'alone' | 'flooded', number[]> = { alone: [], flooded: [] };
    const p99: Record<'alone' | 'flooded', number[]> = { alone: [], flooded: [] };
    const note = (which: 'alone' | 'flooded', seconds: number) => {
      const latencies = customers.take();
      goodput[which].push(latencies.length / seconds);
      p99[which].push(quantile(latencies, 0.99));
    };
    let sent = 0;
    // The server is measured alternately without and with the flood, so that other work on this
    // machine affects both figures alike.
    for (let round = 0; round < 3; round++) {
      await sleep(SECONDS * 500);
      note('alone', SECONDS / 2);
      const startMs = performance.now();
      const { [kind]: figures } = await attack(kind, url, SECONDS, connections);
      note('flooded', (performance.now() - startMs) / 1_000);
      sent += kind === 'connections' ? (figures?.opened ?? 0) : (figures?.requests ?? 0);
    }
    await customers.stop();

    const median = (values: number[]) => values.sort((one, other) => one - other)[1] ?? Number.NaN;
    const ratio = median(goodput.flooded) / median(goodput.alone);
    t.diagnostic(
      `${kind}: ${Math.round(sent / SECONDS / 3).toLocaleString('en')} sent a second; customers ` +
        `${median(goodput.alone).toFixed(0)} → ${median(goodput.flooded).toFixed(0)} a second (${ratio.toFixed(2)}), ` +
        `p99 ${median(p99.alone).toFixed(1)} → ${median(p99.flooded).toFixed(1)} ms`,
    );
    assert.deepEqual(customers.failures, []);
    // If the customers get fewer than 400 responses a second even without the flood, this machine
    // is busy. In this case the flood may cost them 40 % of the responses instead of 20 %.
    assert.ok(ratio >= (median(goodput.alone) >= 400 ? 0.8 : 0.6), `${ratio}`);
  });
}
