import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { missingEngine, startEngine } from '../support/postgres-server.js';

test('examples/postgres.ts lists and cancels the orders in its own table', { skip: missingEngine }, async (t) => {
  const engine = await startEngine();
  const file = fileURLToPath(new URL('../../examples/postgres.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', file], {
    env: { ...process.env, PORT: '0', DATABASE_URL: engine.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(async () => {
    child.kill();
    await once(child, 'exit');
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  const base = `${/http:\S+/.exec(line)?.[0]}/v1/store/orders`;
  const headers = { Authorization: 'Bearer open-sesame' };

  assert.equal(
    await (await fetch(base, { headers })).text(),
    '[{"id":1,"petId":12,"quantity":1,"shipDate":"2026-08-01T00:00:00Z"},{"id":9007199254740993,"petId":7,"quantity":2}]',
  );
  for (const [id, status] of [
    ['9007199254740992', 404],
    ['9007199254740993', 409],
    ['1', 204],
    ['1', 409],
  ]) {
    const response = await fetch(`${base}/${id}`, { method: 'DELETE', headers });
    assert.equal(response.status, status, `DELETE ${id}`);
  }
  const { rows } = await engine.pool({ options: '' }).query('SELECT state FROM purchases WHERE number = 1');
  assert.deepEqual(rows, [{ state: 'called off' }]);
});
