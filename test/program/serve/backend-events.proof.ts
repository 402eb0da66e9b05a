import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { until } from '../../support/until.js';
import { programIn, startServer } from '../support/program.js';

test('the log says why the database is unavailable, after a failed request or probe, and that it works again, without any request', {
  skip: missingEngine,
}, async (t) => {
  const engine = await startEngine();
  const env = { DATABASE_URL: engine.url };
  const { key } = Object(await programIn({ env }).json('keys create --plan business'));
  const server = await startServer(t, { env }, '--redis-url', 'redis://127.0.0.1:1', '--log', 'events');
  const eventsOf = () => server.log().filter(({ event }) => String(event).startsWith('database'));
  assert.equal((await server.get(key)).status, 200);
  for (const [outage, ask] of [
    [1, () => server.get(key)],
    [2, () => fetch(new URL('/readyz', server.url))],
  ] as const) {
    await engine.crash();
    // For a tenth of a second, the server asks the database nothing.
    await until(async () => (await ask()).status === 503);
    await until(() => eventsOf().length === 2 * outage - 1);
    await engine.start();
    await until(() => eventsOf().length === 2 * outage);
    assert.equal((await server.get(key)).status, 200);
  }
  const told = eventsOf().map(({ level, event, error }) => `${level} ${event} ${typeof error}`);
  const both = ['error database unavailable string', 'info database works again undefined'];
  assert.deepEqual(told, [...both, ...both]);
  t.diagnostic(String(eventsOf()[0]?.['error']));
});
