import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../../../support/until.js';
import { skip, startWorkers, WORKERS, workersOf } from './support/workers.js';

const REPLIES = 'store_orders_requests_total{operation="none",status="401",code="missing_api_key"}';
const PROCESSES = 'store_orders_limiter_mode{mode="shared"}';
const BACKENDS = 'store_orders_backend_state{backend="quotas",state="ok"}';

describe('the metrics of workers', { skip }, () => {
  test('the metrics of all workers are added up on one port; the counts of a worker that dies stay in the sums, and its gauges leave them', async (t) => {
    const { server } = await startWorkers(t, '--metrics-port', '0');
    async function read(...names: readonly string[]): Promise<readonly number[]> {
      const lines = (await server.metrics()).split('\n');
      return names.map((name) => Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length)));
    }
    for (let n = 1; n <= 3; n++) {
      for (let i = 0; i < 10; i++) await fetch(`${server.url}/store/orders`, { headers: { connection: 'close' } });
      assert.deepEqual(await read(REPLIES, PROCESSES, BACKENDS), [10 * n, WORKERS, WORKERS]);
      process.kill(workersOf(server)[0] ?? 0, 'SIGKILL');
      await until(() => server.events().filter((event) => event === 'worker ended').length === n);
      assert.deepEqual(await read(REPLIES), [10 * n]);
      await until(() => server.events().filter((event) => event === 'worker replaced').length === n);
    }
  });
});
