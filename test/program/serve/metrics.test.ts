import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { createMemoryLimiter, createPlan, PLANS, perDay, perMinute } from 'store-orders';
import { createManualClock } from 'store-orders/testing';
import { createMetrics } from '../../../dist/program/serve/metrics.js';
import { createMetricsServer } from '../../../dist/program/serve/metrics-port.js';
import { open, readText } from '../../http/support/raw-socket.js';
import { onReplies } from '../../http/support/replies.js';
import { createShop } from '../../http/support/shop.js';
import { listenOnFreePort } from '../../support/listen.js';
import { checkSnapshot } from '../../support/snapshot.js';
import { createDeferred, until } from '../../support/until.js';
import { issueKey, startServer } from '../support/program.js';

test('/metrics on its own port counts replies and commits, in the text format of Prometheus, and reports the mode `local` if Redis cannot be reached', async (t) => {
  const env = { REDIS_URL: 'redis://127.0.0.1:1' };
  const server = await startServer(t, { env }, '--metrics-port', '0', '--log', 'events');
  const { key } = await issueKey(server.cwd, 'enterprise', '--per-minute', '3');
  const headers = { authorization: `Bearer ${key}` };
  for (const [method, path, status] of [
    ['GET', '/store/orders', 200],
    ['DELETE', '/store/orders/5', 204],
    ['DELETE', '/store/orders/5', 409],
    ['GET', '/store/orders', 429],
  ] as const) {
    assert.equal((await fetch(`${server.url}${path}`, { method, headers })).status, status);
  }
  await fetch(`${server.url}/store/orders`);

  const { status } = await fetch(new URL('/metrics', server.url));
  assert.equal(status, 401, 'the port of the order service has no /metrics');
  const ready = { status: 'ok', backends: { database: 'ok', quotas: 'degraded' } };
  assert.deepEqual(await (await fetch(new URL('/readyz', server.url))).json(), ready);
  const text = await server.metrics();
  for (const line of [
    'store_orders_requests_total{operation="listOrders",status="200",code=""} 1',
    'store_orders_requests_total{operation="cancelOrder",status="204",code=""} 1',
    'store_orders_requests_total{operation="cancelOrder",status="409",code="order_already_cancelled"} 1',
    'store_orders_requests_total{operation="none",status="429",code="rate_limit_exceeded"} 1',
    'store_orders_requests_total{operation="none",status="401",code="missing_api_key"} 2',
    'store_orders_refusals_total{plan="enterprise",code="rate_limit_exceeded"} 1',
    'store_orders_backend_state{backend="database",state="ok"} 1',
    'store_orders_backend_state{backend="quotas",state="degraded"} 1',
    '# HELP store_orders_limiter_mode Number of processes whose Redis limiter has this mode.',
    ...['shared', 'local', 'open', 'closed'].map(
      (mode) => `store_orders_limiter_mode{mode="${mode}"} ${mode === 'local' ? 1 : 0}`,
    ),
  ]) {
    assert.ok(text.includes(`\n${line}\n`), line);
  }
  assert.match(text, /\nprocess_resident_memory_bytes [1-9]/);
});

test('with metrics and the default log, each reply is counted and logged', async (t) => {
  const server = await startServer(t, {}, '--metrics-port', '0');
  await fetch(`${server.url}/store/orders`);
  await until(() => server.log().some(({ event, status }) => event === 'request' && status === 401));
  assert.ok(
    (await server.metrics()).includes(
      '\nstore_orders_requests_total{operation="none",status="401",code="missing_api_key"} 1\n',
    ),
  );
});

async function listen(t: TestContext, text: () => Promise<string>) {
  const server = createMetricsServer(text);
  t.after(() => server.close().closeAllConnections());
  return { server, port: await listenOnFreePort(server) };
}

test('the metrics port has only GET and HEAD /metrics, its errors are Error objects, and a request must arrive within 5 s', async (t) => {
  let isReadable = true;
  const { server, port } = await listen(t, async () => (isReadable ? 'metrics\n' : assert.fail()));
  const ask = (method: string, path: string) => fetch(`http://127.0.0.1:${port}${path}`, { method });
  const page = await ask('GET', '/metrics');
  assert.equal(page.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  assert.equal(await page.text(), 'metrics\n');
  assert.equal((await ask('HEAD', '/metrics?from=prometheus')).status, 200);
  isReadable = false;
  for (const [method, path, status, code] of [
    ['POST', '/metrics', 405, 'method_not_allowed'],
    ['GET', '/', 404, 'route_not_found'],
    ['GET', '/metrics', 500, 'internal_error'],
  ] as const) {
    const response = await ask(method, path);
    const { message, ...error } = Object(await response.json());
    const fields = ['content-type', 'allow'].map((name) => response.headers.get(name));
    assert.deepEqual([response.status, ...fields, error], [status, 'application/json', 'GET, HEAD', { code, status }]);
  }
  assert.deepEqual([server.headersTimeout, server.requestTimeout], [5_000, 5_000]);
});

test('the metrics port closes a connection after one response, collects for no further request of it, and accepts four at a time', {
  timeout: 60_000,
}, async (t) => {
  const collected = createDeferred<string>();
  const collect = t.mock.fn(() => collected.promise);
  const { port } = await listen(t, collect);
  const requests = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(100);
  const sockets = Array.from({ length: 4 }, () => open(port, requests));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  assert.equal(await readText(open(port, requests)), '');
  collected.resolve('all\n');
  for (const text of await Promise.all(sockets.map(readText))) {
    assert.match(text, /^HTTP\/1\.1 200 .*?Connection: close\r\n.*?\r\n\r\nall\n(?:HTTP\/1\.1 503 |$)/s);
  }
  assert.equal(collect.mock.callCount(), 4);
});

const log = { dropped: 7 };
const metrics = createMetrics({ database: () => 'degraded', quotas: () => Promise.reject() }, log);

test('/metrics adds up replies, failures and seconds, with the dropped lines of the log, the state of each backend, a help and a zero for each series', async () => {
  const failed = { operation: 'listOrders', status: 503, code: 'service_unavailable', error: 'down' } as const;
  metrics.count({ ...failed, requestId: undefined, plan: 'free', durationMs: 20_000 });
  // The reply has already been counted.
  metrics.count({ ...failed, requestId: undefined, plan: 'free', durationMs: 20_000, isCutOff: true });
  await metrics.serialize();
  log.dropped = 9;
  const lines = (await metrics.serialize()).split('\n').filter((line) => line.includes('store_orders_'));
  checkSnapshot('metrics.txt', `${lines.join('\n')}\n`);
});

test('/metrics does not grow with thousands of different ids, keys, paths, methods and addresses', async (t) => {
  t.after(onReplies(metrics.count));
  const clock = createManualClock();
  const oneADay = createPlan({ name: 'one', policies: [perDay(1)] });
  const { service } = createShop({
    limiter: createMemoryLimiter({ clock, maxAddresses: 1_000 }),
    addressPlan: createPlan({ name: 'address', partition: 'address', policies: [perMinute(6)] }),
    authenticate: (apiKey) => {
      if (apiKey.startsWith('unknown')) return undefined;
      return { id: apiKey, plan: apiKey === 'busy' ? oneADay : PLANS.free };
    },
  });
  /** Sends requests, and returns the names and labels of all series in the metrics. */
  async function seriesAfter(from: number, to: number): Promise<readonly string[]> {
    for (let n = from; n < to; n++) {
      clock.advance(1);
      const key = ['busy', `unknown${n}`][n % 10] ?? `k${n}`;
      const rawHeaders = ['Authorization', `Bearer ${key}`, 'X-Request-Id', `id-${n}`];
      const url = n % 5 === 0 ? `/${n}` : `/v1/store/orders${n % 3 === 0 ? `/${n}` : ''}`;
      await service.respond({ method: n % 3 === 0 ? 'DELETE' : `M${n}`, url, rawHeaders }, `10.0.${n % 100}.1`);
    }
    const lines = (await metrics.serialize()).split('\n');
    return lines.map((line) => line.replace(/ \S+$/, '')).sort();
  }
  // The first requests have every possible outcome.
  const series = await seriesAfter(0, 4_000);
  assert.deepEqual(await seriesAfter(4_000, 8_000), series);
});
