import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../../support/until.js';
import { programIn } from '../../support/program.js';

const PRIMARY = fileURLToPath(new URL('support/primary-process.mjs', import.meta.url));

function startPrimary(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [PRIMARY], { env: { ...process.env, ...env } });
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
  assert.deepEqual(listening, { level: 'info', event: 'listening', url: listening.url, workers: 2 });
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

/** Stops workers, and returns the responses to some connections as they arrive. */
async function connectToStopped({ events, lines, workers }: ReturnType<typeof startPrimary>, count: number) {
  await until(() => events().length === 1);
  const stopped = workers().slice(0, count);
  for (const pid of stopped) process.kill(pid, 'SIGSTOP');
  const port = Number(new URL(lines()[0].url).port);
  const responses: string[] = [];
  for (let n = 0; n < 4; n++) {
    const socket = connect({ port, host: '127.0.0.1' });
    void text(socket).then(
      (response) => responses.push(response),
      (error) => responses.push(error.code),
    );
    await once(socket, 'connect');
  }
  return { stopped, responses };
}

test('a connection that was handed to a worker which ends before it accepts it is served by another worker', {
  skip,
}, async (t) => {
  const { stopped, responses } = await connectToStopped(startPrimary(t), 1);
  await until(() => responses.length === 3);
  for (const pid of stopped) process.kill(pid, 'SIGKILL');
  await until(() => responses.length === 4);
  assert.deepEqual(responses, ['2', '2', '2', '2']);
});

test('if all workers end, no connection that was handed to them stays open', { skip }, async (t) => {
  const { stopped, responses } = await connectToStopped(startPrimary(t), 2);
  assert.deepEqual(responses, []);
  for (const pid of stopped) process.kill(pid, 'SIGKILL');
  await until(() => responses.length === 4);
  assert.ok(responses.every((response) => ['', 'ECONNRESET'].includes(response)));
});

test('a connection of a worker that ends is closed if the channel to the only other worker has ended before', {
  skip,
}, async (t) => {
  const primary = startPrimary(t);
  const { stopped, responses } = await connectToStopped(primary, 1);
  await until(() => responses.length === 3);
  const [first = 0, second = 0] = primary.workers();
  assert.deepEqual(stopped, [first]);
  t.after(() => process.kill(second, 'SIGKILL'));
  process.kill(second, 'SIGHUP');
  await until(() => primary.events().length === 2);
  process.kill(first, 'SIGKILL');
  await until(() => responses.length === 4);
  assert.ok(['', 'ECONNRESET'].includes(responses[3] ?? ''));
});

test('a worker that leaves three questions of the primary unanswered is replaced, the others stay, and the connection that it held is served', {
  skip,
}, async (t) => {
  const primary = startPrimary(t);
  const { responses } = await connectToStopped(primary, 1);
  await until(() => responses.length === 3);
  primary.child.kill('SIGUSR2');
  await until(() => primary.events().length === 4 && responses.length === 4);
  assert.deepEqual(responses.slice(0, 3), ['2', '2', '2']);
  assert.match(responses[3] ?? '', /^[12]$/);
  assert.deepEqual(primary.events().slice(1), [
    ['worker does not respond', 1, undefined],
    ['worker ended', 1, 'SIGKILL'],
    ['worker replaced', 1, undefined],
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

test('a worker of another cluster, as pm2 -i starts, is told that it cannot start workers', async () => {
  const env = { NODE_UNIQUE_ID: '1', DATABASE_URL: 'postgres://localhost/shop', REDIS_URL: 'redis://localhost' };
  const message = await programIn({ env }).failure('serve --workers 2');
  assert.match(message, /^a worker of another cluster cannot start workers/);
});

for (const number of ['1', '2']) {
  test(`if worker ${number} cannot start, the primary returns its reason and leaves no worker`, { skip }, async (t) => {
    const { events, result } = startPrimary(t, { FAIL: number });
    assert.deepEqual(await result(), { exitCode: 1, message: 'no room' });
    assert.deepEqual(events(), []);
  });
}
