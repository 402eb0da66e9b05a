import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

/** A worker that reads its metrics until its primary is gone, and has a request in flight then. */
const WORKER = `
  import { once } from 'node:events';
  import { workerLifecycle } from '${import.meta.resolve('../../../dist/program/serve/lifecycle.js')}';
  const lifecycle = workerLifecycle(process.env);
  lifecycle.shareMetrics(async () => {
    lifecycle.report('listening');
    await once(process, 'disconnect');
    return [];
  });
  lifecycle.onStop(() => setTimeout(() => console.log('served'), 50));
  lifecycle.report('listening');`;

test('a worker that reads its metrics when its primary ends still serves its requests, and exits with 0', async (t) => {
  // With an operand and this variable, Node.js runs the script as a worker of a cluster.
  const child = spawn(process.execPath, ['--input-type=module', '--eval', WORKER, 'worker'], {
    env: { ...process.env, NODE_UNIQUE_ID: '1', STORE_ORDERS_WORKER: '1' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  t.after(() => child.kill('SIGKILL'));
  if (child.stdout === null) throw new Error('no pipe');
  const ended = Promise.all([once(child, 'exit'), text(child.stdout)]);
  await once(child, 'message');
  child.send('metrics');
  await once(child, 'message');
  child.disconnect();
  assert.deepEqual(await ended, [[0, null], 'served\n']);
});
