import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { issueKey, sleep, startServer, temporaryDirectory } from '../support/program.js';
import { attack, customer, quantile, residentMiB, watchAges } from './support/under-attack.js';

/** STORE_ORDERS_SECONDS=1800 is the soak. */
const SECONDS = Number(process.env['STORE_ORDERS_SECONDS'] ?? 40);
const CONNECTIONS = 1_000;
const HEAP = { NODE_OPTIONS: '--max-old-space-size=256' };

async function start(t: TestContext) {
  const cwd = temporaryDirectory(t);
  const server = await startServer(t, { cwd, env: HEAP }, '--log', 'events');
  const { key } = await issueKey(cwd, 'enterprise', '--per-day', '1000000000');
  return { server, key, url: new URL(`${server.url}/store/orders`) };
}

test('a thousand slow, greedy and deaf connections on every path cost neither memory nor patience', async (t) => {
  const { server, key, url } = await start(t);
  const honest = customer(url, key, 4, 10);
  await sleep(5_000);
  const before = honest.take();
  const baseMiB = residentMiB(server.child.pid);

  let mostMiB = 0;
  const watching = setInterval(() => {
    mostMiB = Math.max(mostMiB, residentMiB(server.child.pid));
  }, 100);
  const ages = watchAges(url);
  const figures = await attack('mixture', url, SECONDS, CONNECTIONS);
  clearInterval(watching);
  ages.stop();
  const during = honest.take();
  await honest.stop();

  const [p99Before, p99] = [quantile(before, 0.99), quantile(during, 0.99)];
  t.diagnostic(JSON.stringify(figures));
  t.diagnostic(
    `p50 ${quantile(before, 0.5).toFixed(1)} → ${quantile(during, 0.5).toFixed(1)} ms, p99 ${p99Before.toFixed(1)} → ` +
      `${p99.toFixed(1)} ms, most ${during.at(-1)?.toFixed(1)} ms; ${during.length} answers in ${SECONDS} s; ` +
      `memory ${baseMiB.toFixed(0)} → ${mostMiB.toFixed(0)} MiB; at most ${ages.most()} connections, ` +
      `each for ${(ages.longestMs() / 1_000).toFixed(1)} s at most`,
  );
  assert.deepEqual(honest.failures, []);
  assert.equal(server.child.exitCode, null);
  assert.ok(ages.longestMs() <= 30_000, `a connection was open for ${ages.longestMs()} ms`);
  assert.ok(mostMiB <= baseMiB + 64, `${mostMiB} MiB`);
  // A burst takes 10 to 30 ms of a processor. Where others want it too, as they do if customers wait without an attack, it
  // takes as many times longer.
  assert.ok(p99 <= (p99Before <= 3 ? 50 : 500), `${p99} ms`);
});
