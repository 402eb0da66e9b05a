import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../support/until.js';

const PRIMARY = fileURLToPath(new URL('support/primary-process.ts', import.meta.url));

function startPrimary(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, ['--import', 'tsx', PRIMARY], { env: { ...process.env, ...env } });
  t.after(() => child.kill('SIGKILL'));
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (printed += text));
  const exited = once(child, 'exit');
  const lines = () => (printed.match(/.+(?=\n)/g) ?? []).map((line) => JSON.parse(line));
  return {
    child,
    /** Returns the events so far, with the numbers of workers. */
    events: () =>
      lines().flatMap(({ event, worker, code, signal }) => (event ? [[event, worker, code ?? signal]] : [])),
    lines,
    workers: () =>
      readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    async result() {
      await exited;
      return lines().find((line) => 'exitCode' in line);
    },
  };
}

const skip = process.platform !== 'linux' && 'the workers are found in /proc: run this on Linux';

test('a primary logs once that all workers listen, replaces a worker under its number, and drains all of them', {
  skip,
}, async (t) => {
  const { child, events, lines, workers, result } = startPrimary(t);
  await until(() => events().length === 1);
  const { time, ...listening } = lines()[0];
  assert.deepEqual(listening, { level: 'info', event: 'listening', url: 'http://worker-1', workers: 2 });
  const [, second = 0] = workers();
  process.kill(second, 'SIGKILL');
  await until(() => events().length === 3);
  assert.equal(workers().length, 2);
  child.kill('SIGTERM');
  assert.deepEqual(await result(), { exitCode: 0 });
  assert.deepEqual(events(), [
    ['listening', undefined, undefined],
    ['worker ended', 2, 'SIGKILL'],
    ['worker replaced', 2, undefined],
    ['stopping', undefined, 'SIGTERM'],
    ['stopped', undefined, undefined],
  ]);
});

test('a worker that exits with an error while it drains is logged, and the primary fails', { skip }, async (t) => {
  const { child, events, result } = startPrimary(t, { UNCLEAN: '2' });
  await until(() => events().length === 1);
  child.kill('SIGTERM');
  assert.deepEqual(await result(), { exitCode: 1, message: 'a worker did not stop cleanly; the log names it' });
  assert.deepEqual(events().slice(2), [
    ['worker ended', 2, 3],
    ['stopped', undefined, undefined],
  ]);
});

for (const number of ['1', '2']) {
  test(`if worker ${number} cannot start, the primary returns its reason and leaves no worker`, { skip }, async (t) => {
    const { events, result } = startPrimary(t, { FAIL: number });
    assert.deepEqual(await result(), { exitCode: 1, message: 'no room' });
    assert.deepEqual(events(), []);
  });
}
