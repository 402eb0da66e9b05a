import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../../support/until.js';
import { skip, startWorkers, WORKERS, workersOf } from './support/workers.js';

describe('the metrics of workers', { skip }, () => {
  test('the metrics of all workers are added up on one port', async (t) => {
    const { server } = await startWorkers(t, '--metrics-port', '0');
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
  });

  test('the counts of a worker that dies stay in the sums, and its gauges leave them', async (t) => {
    const { server } = await startWorkers(t, '--metrics-port', '0');
    const read = async (name: string) => {
      const text = await (await fetch(String(server.log()[0]?.['metrics']))).text();
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')
          .at(-1),
      );
    };
    const replies = 'store_orders_requests_total{operation="none",status="401",code="missing_api_key"}';
    const processes = 'store_orders_limiter_mode{mode="shared"}';
    for (let n = 1; n <= 3; n++) {
      for (let i = 0; i < 10; i++) await fetch(`${server.url}/store/orders`, { headers: { connection: 'close' } });
      assert.deepEqual([await read(replies), await read(processes)], [10 * n, WORKERS]);
      process.kill(workersOf(server)[0] ?? 0, 'SIGKILL');
      await until(() => server.events().filter((event) => event === 'worker ended').length === n);
      assert.equal(await read(replies), 10 * n);
      await until(() => server.events().filter((event) => event === 'worker replaced').length === n);
    }
  });
});
