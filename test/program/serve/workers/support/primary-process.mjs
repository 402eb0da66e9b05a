import cluster from 'node:cluster';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { mock } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createLog } from '../../../../../dist/program/log/log.js';
import { runPrimary } from '../../../../../dist/program/serve/workers/primary.js';

// Runs the primary process over two workers that serve nothing. `primary.test.ts` starts this
// program, which is JavaScript because loading tsx takes three times as long. A worker logs its number
// and its messages. At SIGUSR2, 28 s pass on its clock, and one worker answers each question meanwhile.

mock.timers.enable({ apis: ['setInterval'] });
process.on('SIGUSR2', async () => {
  for (let questions = 0; questions < 4; questions++) {
    const answered = once(cluster, 'message');
    mock.timers.tick(7_000);
    await answered;
  }
});
cluster.setupPrimary({ exec: fileURLToPath(new URL('idle-worker.mjs', import.meta.url)), execArgv: [] });
const result = await runPrimary({ workers: 2, host: '127.0.0.1' }, createLog(process.stdout, false));
const loaded = Object.keys(createRequire(import.meta.url).cache);
// The package is optional, and needed only for a metrics port.
if (loaded.some((file) => file.includes('prom-client'))) throw new Error('prom-client has been loaded');
process.stdout.write(`${JSON.stringify(result)}\n`);
