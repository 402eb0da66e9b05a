import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { outerEnvironment } from '../support/outer-environment.js';
import { skip, startRedis } from '../support/redis-server.js';

const example = fileURLToPath(new URL('../../examples/redis.ts', import.meta.url));

test('examples/redis.ts: two processes share the quota of a key', { skip }, async (t) => {
  const server = await startRedis();
  t.after(() => server.stop());
  const env = { ...outerEnvironment(), PORT: '0', REDIS_URL: `redis://127.0.0.1:${server.port}` };
  const bases = await Promise.all(
    Array.from({ length: 2 }, async () => {
      const child = spawn(process.execPath, ['--import', 'tsx', example], {
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      t.after(() => child.kill());
      const [line] = await once(createInterface(child.stdout), 'line');
      return /http:\S+/.exec(line)?.[0];
    }),
  );
  const remaining = [];
  for (const base of [...bases, ...bases]) {
    const headers = { Authorization: 'Bearer open-sesame' };
    const response = await fetch(`${base}/v1/store/orders`, { headers });
    assert.equal(response.status, 200);
    remaining.push(Number(response.headers.get('X-RateLimit-Remaining')));
  }
  assert.deepEqual(remaining, [59, 58, 57, 56]);
});
