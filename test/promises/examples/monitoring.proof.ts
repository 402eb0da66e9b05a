import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { issueKey, programWithOrders, startServer } from '../../program/support/program.js';
import { without } from '../../support/installed.js';
import { freePort } from '../../support/listen.js';
import { run, startProgram } from '../../support/outer-environment.js';
import { startRedis, skip as withoutRedis } from '../../support/redis-server.js';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';

const deploy = join(root, 'examples/deploy');
const PATIENCE_MS = 300_000;

test('promtool finds the alert rules valid, and their tests pass', {
  skip: without('promtool', 'prometheus'),
}, () => {
  run('promtool', ['check', 'rules', '--lint-fatal', 'alerts.yaml'], deploy);
  run('promtool', ['test', 'rules', 'alerts.test.yaml'], deploy);
});

/** Starts Prometheus, which reads this page every second. Returns a function that runs a query. */
async function startPrometheus(t: { after(stop: () => unknown): void }, metricsPort: number) {
  const folder = temporaryDirectory();
  const file = join(folder, 'prometheus.json');
  writeFileSync(
    file,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      scrape_configs: [{ job_name: 'store-orders', static_configs: [{ targets: [`127.0.0.1:${metricsPort}`] }] }],
    }),
  );
  const port = await freePort();
  const options = { 'config.file': file, 'storage.tsdb.path': folder, 'web.listen-address': `127.0.0.1:${port}` };
  const url = `http://127.0.0.1:${port}`;
  const given = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const isReady = () =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  const child = await startProgram('prometheus', given, isReady);
  const exited = once(child, 'exit');
  t.after(() => {
    child.kill('SIGKILL');
    return exited;
  });
  return async (query: string): Promise<readonly { readonly value: readonly [number, string] }[]> => {
    const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query })}`);
    const { status, error, data } = Object(await response.json());
    assert.equal(status, 'success', `${query}: ${error}`);
    return data.result;
  };
}

test('every query of the dashboard and of the alert rules finds metrics of a real server in a real Prometheus', {
  skip: withoutRedis || without('prometheus'),
}, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const { cwd } = await programWithOrders(500);
  const [free, business] = [await issueKey(cwd, 'free'), await issueKey(cwd, 'business')];
  const metricsPort = await freePort();
  const settings = ['--metrics-port', `${metricsPort}`, '--redis-url', `redis://127.0.0.1:${redis.port}`];
  const server = await startServer(t, { cwd }, ...settings);
  const query = await startPrometheus(t, metricsPort);

  const dashboard = JSON.parse(readFileSync(join(deploy, 'grafana-dashboard.json'), 'utf8'));
  const panels: readonly { readonly targets: readonly { readonly expr: string }[] }[] = dashboard.panels;
  const { groups } = parse(readFileSync(join(deploy, 'alerts.yaml'), 'utf8'));
  const rules: readonly { readonly expr: string }[] = groups[0].rules;
  const drawn = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '30s')));
  const metrics = readFileSync(join(root, 'test/snapshots/metrics.txt'), 'utf8');
  for (const [, name = ''] of metrics.matchAll(/^# TYPE (store_orders_\w+)/gm)) {
    assert.ok(
      drawn.some((expr) => expr.includes(name)),
      `${name} is not on the dashboard`,
    );
  }
  const queries = [
    ...drawn,
    // Without the comparison, which no sound server fulfils.
    ...rules.map(({ expr }) =>
      expr
        .trim()
        .replace(/ (?:==|>) [\d.]+$/, '')
        .replaceAll('5m', '30s'),
    ),
  ];

  let orderId = 0;
  const headers = { authorization: `Bearer ${business.key}` };
  const missing = new Set(queries);
  await until(async () => {
    // A rate needs two points, so the requests go on. The smaller quota soon ends with refusals.
    await server.get(free.key);
    await server.get(free.key);
    await fetch(`${server.url}/store/orders/${++orderId}`, { method: 'DELETE', headers });
    for (const expr of missing) {
      const found = await query(expr);
      if (found.length > 0 && found.some(({ value: [, number] }) => Number.isFinite(Number(number))))
        missing.delete(expr);
    }
    return missing.size === 0;
  }, PATIENCE_MS).catch(() => assert.deepEqual([...missing], []));
});
