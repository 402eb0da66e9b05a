import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { issueKey, startServer } from '../support/program.js';
import { assertBounded } from './support/bounded.js';
import { parseMetrics, type Series } from './support/parse-metrics.js';

test('/metrics on its own port counts what the diagnostics channels report, in the text format of Prometheus', async (t) => {
  const cwd = temporaryDirectory();
  const server = await startServer(t, { cwd }, '--metrics-port', '0', '--log', 'events');
  const { key } = await issueKey(cwd, 'enterprise', '--per-minute', '3');
  const headers = { authorization: `Bearer ${key}` };
  const ask = (method: string, path: string) => fetch(`${server.url}${path}`, { method, headers });
  for (const [method, path, status] of [
    ['GET', '/store/orders', 200],
    ['DELETE', '/store/orders/5', 204],
    ['DELETE', '/store/orders/5', 409],
    ['GET', '/store/orders', 429],
  ] as const) {
    assert.equal((await ask(method, path)).status, status);
  }
  await fetch(`${server.url}/store/orders`);

  const url = String(server.log()[0]?.['metrics']);
  const { origin } = new URL(server.url);
  assert.equal((await fetch(`${origin}/metrics`)).status, 401, 'the port of the order service has no /metrics');
  const response = await fetch(url);
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const metrics = parseMetrics(await response.text());
  const value = (series: Series) => metrics.get(series);
  const requests = (labels: string) => value(`store_orders_requests_total{${labels}}`);
  assert.equal(requests('operation="listOrders",status="200",code=""'), 1);
  assert.equal(requests('operation="cancelOrder",status="204",code=""'), 1);
  assert.equal(requests('operation="cancelOrder",status="409",code="order_already_cancelled"'), 1);
  assert.equal(requests('operation="none",status="429",code="rate_limit_exceeded"'), 1);
  assert.equal(requests('operation="none",status="401",code="missing_api_key"'), 2);
  assert.equal(value('store_orders_refusals_total{plan="enterprise",code="rate_limit_exceeded"}'), 1);
  assert.equal(value('store_orders_request_duration_seconds_count{operation="cancelOrder"}'), 2);
  assert.equal(value('store_orders_backend_state{backend="database",state="ok"}'), 1);
  assert.equal(value('store_orders_limiter_mode{mode="shared"}'), undefined, 'without Redis');
  assert.ok((value('store_orders_commit_writes_sum') ?? 0) >= 1);
  for (const name of ['process_resident_memory_bytes', 'process_cpu_seconds_total', 'nodejs_heap_size_used_bytes']) {
    assert.ok((value(name) ?? 0) > 0, name);
  }
  assert.ok((value('nodejs_eventloop_lag_p99_seconds') ?? -1) >= 0);

  assert.equal((await fetch(url, { method: 'HEAD' })).status, 200);
  assert.equal((await fetch(url, { method: 'POST' })).status, 405);
  assert.match(await (await fetch(new URL('/', url))).text(), /metrics are at GET \/metrics\./);
  assert.equal((await fetch(new URL('/', url))).status, 404);
  assert.equal(await server.stop('SIGTERM'), 0);
  await assert.rejects(fetch(url), 'the metrics port closes with the server');
});

test('/metrics reports the mode `local` if Redis cannot be reached when the server starts', async (t) => {
  const cwd = temporaryDirectory();
  const server = await startServer(t, { cwd }, '--metrics-port', '0', '--redis-url', 'redis://127.0.0.1:1');
  const listening = server.log().find((line) => line['metrics'] !== undefined);
  const metrics = parseMetrics(await (await fetch(String(listening?.['metrics']))).text());
  assert.equal(metrics.get('store_orders_limiter_mode{mode="local"}'), 1);
  assert.equal(metrics.get('store_orders_limiter_mode{mode="shared"}'), 0);
});

test('/metrics does not grow with thousands of different ids, keys, paths, plans and addresses', () =>
  assertBounded(4_000, 8_000));
