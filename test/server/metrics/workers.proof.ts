import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { missingEngine, startEngine } from '../../databases/postgres/support/engine.js';
import { skip as skipRedis, startServer as startRedis } from '../../limits/redis/support/server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { startServer } from '../support/program.js';
import { parseMetrics } from './support/parse-metrics.js';

const skip = missingEngine || skipRedis;
const engine = skip ? undefined : await startEngine();
const redis = skip ? undefined : await startRedis();
after(() => redis?.stop());

test('each worker has its metrics on a port of its own; the log names the first of these ports', {
  skip,
}, async (t) => {
  const env = { DATABASE_URL: engine?.url ?? '', REDIS_URL: `redis://127.0.0.1:${redis?.port}` };
  const port = 20_000 + (process.pid % 10_000);
  const options = ['--workers', '2', '--metrics-port', `${port}`, '--log', 'events'];
  const server = await startServer(t, { cwd: temporaryDirectory(), env }, ...options);
  assert.equal(server.log()[0]?.['metrics'], `http://127.0.0.1:${port}/metrics`);
  for (let n = 0; n < 10; n++) await fetch(`${server.url}/store/orders`, { headers: { connection: 'close' } });
  let requests = 0;
  for (const own of [port, port + 1]) {
    const metrics = parseMetrics(await (await fetch(`http://127.0.0.1:${own}/metrics`)).text());
    requests += metrics.get('store_orders_requests_total{operation="none",status="401",code="missing_api_key"}') ?? 0;
    assert.equal(metrics.get('store_orders_limiter_mode{mode="shared"}'), 1);
    assert.equal(metrics.get('store_orders_backend_state{backend="quotas",state="ok"}'), 1);
  }
  assert.equal(requests, 10);
  assert.equal(await server.stop('SIGTERM'), 0);
});
