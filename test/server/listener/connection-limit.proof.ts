import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, describe, test } from 'node:test';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { skip as skipRedis, startRedis } from '../../support/redis-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { startServer } from '../support/program.js';

const skip = missingEngine || skipRedis;
const engine = skip ? undefined : await startEngine();
const redis = skip ? undefined : await startRedis();

after(() => redis?.stop());

/** Opens more connections than the server may have open files, and then closes all of them. */
async function flood(url: URL): Promise<void> {
  const sockets = Array.from({ length: 300 }, () => connect(Number(url.port), url.hostname).on('error', () => {}));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await new Promise((resolve) => setTimeout(resolve, 500));
  for (const socket of sockets) socket.destroy();
}

describe('a server with more connections than its limit on open files allows', { skip }, () => {
  for (const workers of ['1', '2']) {
    test(`the server serves new connections after a flood of too many connections (workers: ${workers})`, async (t) => {
      const server = await startServer(
        t,
        {
          cwd: temporaryDirectory(),
          env: { DATABASE_URL: engine?.url ?? '', REDIS_URL: `redis://127.0.0.1:${redis?.port}` },
          under: ['sh', '-c', 'ulimit -n 100; exec "$0" "$@"'],
        },
        '--workers',
        workers,
      );
      const url = new URL(server.url);
      await flood(url);
      await flood(url);
      const answer = () => fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(5_000) });
      // A worker may need a moment to notice that the connections of the flood are closed.
      await until(async () => (await answer().catch(() => undefined))?.status === 200);
      assert.equal(await server.stop('SIGTERM'), 0);
    });
  }
});
