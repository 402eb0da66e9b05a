import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { outerEnvironment } from '../support/outer-environment.js';
import { missingEngine, startEngine } from '../support/postgres-server.js';
import { startRedis, skip as withoutRedis } from '../support/redis-server.js';
import { root } from '../support/root.js';

const headers = { Authorization: 'Bearer open-sesame' };

/** Starts an example, and returns the address of its list of orders. */
async function start(t: TestContext, file: string, env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, ['--import', 'tsx', join(root, 'examples', file)], {
    env: { ...outerEnvironment(), PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(async () => {
    child.kill();
    await once(child, 'exit');
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  return `${/http:\S+/.exec(line)?.[0]}/v1/store/orders`;
}

test('examples/postgres.ts lists and cancels the orders in its own table', { skip: missingEngine }, async (t) => {
  const engine = await startEngine();
  const list = await start(t, 'postgres.ts', { DATABASE_URL: engine.url });
  assert.equal(
    await (await fetch(list, { headers })).text(),
    '[{"id":1,"petId":12,"quantity":1,"shipDate":"2026-08-01T00:00:00Z"},{"id":9007199254740993,"petId":7,"quantity":2}]',
  );
  for (const [id, status] of [
    ['9007199254740992', 404],
    ['9007199254740993', 409],
    ['1', 204],
    ['1', 409],
  ]) {
    const response = await fetch(`${list}/${id}`, { method: 'DELETE', headers });
    assert.equal(response.status, status, `DELETE ${id}`);
  }
  const { rows } = await engine.pool({ options: '' }).query('SELECT state FROM purchases WHERE number = 1');
  assert.deepEqual(rows, [{ state: 'called off' }]);
});

test('examples/redis.ts: two processes share the quota of a key', { skip: withoutRedis }, async (t) => {
  const server = await startRedis();
  t.after(() => server.stop());
  const env = { REDIS_URL: `redis://127.0.0.1:${server.port}` };
  const lists = [await start(t, 'redis.ts', env), await start(t, 'redis.ts', env)];
  const remaining = [];
  for (const list of [...lists, ...lists]) {
    const response = await fetch(list, { headers });
    assert.equal(response.status, 200);
    remaining.push(Number(response.headers.get('X-RateLimit-Remaining')));
  }
  assert.deepEqual(remaining, [59, 58, 57, 56]);
});
