import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { startServer } from '../../../program/support/program.js';
import type { RunOptions } from '../../../program/support/run.js';
import { temporaryDirectory } from '../../../support/temporary-file.js';
import { until } from '../../../support/until.js';
import { createClient } from './client.js';
import { createOrderFile } from './order-file.js';

/** Starts a server on a new file with `count` pending orders, and connects a client to it. */
export async function serving(t: TestContext, count: number, options: Partial<RunOptions> = {}) {
  const orders = await createOrderFile(options.cwd ?? temporaryDirectory(), count);
  const server = await startServer(t, { ...options, cwd: orders.cwd });
  const client = createClient(server.url, orders.key.key);
  t.after(client.close);
  return {
    orders,
    server,
    client,
    /** Cancels the next order. */
    cancel: () => client.cancel(orders.next(1)[0] ?? 0n),
    /** Resolves when `/readyz` reports that state. Probes within a tenth of a second share an answer. */
    isReported: (database: 'ok' | 'unavailable') =>
      until(async () => {
        const response = await fetch(new URL('/readyz', server.url));
        const { backends } = Object(await response.json());
        assert.equal(response.ok, backends.database === 'ok');
        return backends.database === database;
      }),
    isLogged: (error: RegExp) => server.log().some((line) => error.test(String(line['error']))),
  };
}
