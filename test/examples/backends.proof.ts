import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { missingEngine, startEngine } from '../support/postgres-server.js';
import { startRedis, skip as withoutRedis } from '../support/redis-server.js';
import { headers, serveExample } from './support/start.js';

async function start(t: TestContext, file: string, env: object): Promise<string> {
  return `${await serveExample(t, file, undefined, env)}/v1/store/orders`;
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
