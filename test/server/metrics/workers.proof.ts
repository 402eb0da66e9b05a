import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { skip as skipRedis, startRedis } from '../../support/redis-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { startServer } from '../support/program.js';

const skip = missingEngine || skipRedis;
const engine = skip ? undefined : await startEngine();
const redis = skip ? undefined : await startRedis();
after(() => redis?.stop());

test('the metrics of all workers are added up on one port', { skip }, async (t) => {
  const env = { DATABASE_URL: engine?.url ?? '', REDIS_URL: `redis://127.0.0.1:${redis?.port}` };
  const options = ['--workers', '2', '--metrics-port', '0', '--log', 'events'];
  const server = await startServer(t, { cwd: temporaryDirectory(), env }, ...options);
  for (let n = 0; n < 10; n++) await fetch(`${server.url}/store/orders`, { headers: { connection: 'close' } });
  const url = String(server.log()[0]?.['metrics']);
  const text = await (await fetch(url)).text();
  for (const line of [
    'store_orders_requests_total{operation="none",status="401",code="missing_api_key"} 10',
    'store_orders_limiter_mode{mode="shared"} 2',
    'store_orders_backend_state{backend="quotas",state="ok"} 2',
  ]) {
    assert.ok(text.includes(`\n${line}\n`), line);
  }
  assert.equal(await server.stop('SIGTERM'), 0);
  await assert.rejects(fetch(url), 'the metrics port closes with the server');
});
