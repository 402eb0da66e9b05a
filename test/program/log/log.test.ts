import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../../../dist/program/log/log.js';
import { onTerminal, startServer } from '../support/program.js';

/** A stream that takes each write only when `take` is called. */
function slowStream() {
  const writes: string[] = [];
  let taken: (() => void) | undefined;
  return {
    writes,
    lines: () => (writes.join('').match(/.+/g) ?? []).map((line) => JSON.parse(line)),
    write(batch: string, written: () => void) {
      assert.equal(taken, undefined, 'a write begins only when the previous one has ended');
      writes.push(batch);
      taken = written;
    },
    take() {
      const then = taken;
      taken = undefined;
      then?.();
      return then !== undefined;
    },
  };
}

test('lines are written together within 10 ms, in pieces of whole lines that a pipe takes at once, or in larger pieces to a file', async () => {
  for (const [isFile, mostBytes, mostWrites] of [
    [false, 4_096, 5],
    [true, 65_536, 1],
  ] as const) {
    const stream = slowStream();
    const log = createLog(stream, false, undefined, isFile);
    for (let n = 0; n < 100; n++) log.event('x'.repeat(n));
    while (stream.take());
    await sleep(30);
    stream.take();
    assert.deepEqual(
      stream.lines().map(({ event }) => event.length),
      Array.from({ length: 100 }, (_, n) => n),
    );
    assert.ok(stream.writes.every((batch) => batch.length <= mostBytes && batch.endsWith('}\n')));
    assert.ok(stream.writes.length <= mostWrites, `${stream.writes.length} writes`);
  }
});

test('log lines that nobody reads are kept up to a limit, and one line and `dropped` report how many more were dropped', () => {
  const stream = slowStream();
  const log = createLog(stream, false);
  for (let n = 0; n < 20_001; n++) log.event('x'.repeat(1_000));
  while (stream.take()) log.flush();
  const events = stream.lines();
  const kept = events.filter(({ event }) => event.startsWith('xxx')).length;
  assert.ok(kept > 12_000 && kept * 1_000 < 17 * 2 ** 20, `${kept} kept`);
  assert.deepEqual(
    events.slice(kept).map(({ level, event, lines }) => [level, event, lines]),
    [['error', 'log lines dropped because the log was not read in time', 20_001 - kept]],
  );
  assert.equal(log.dropped, 20_001 - kept);
});

test('what looks like an API key is masked in every line, also a key that was mistyped or cut off', () => {
  const [key, cut] = [`so_${'a1'.repeat(19)}`, `so%5F${'Z'.repeat(16)}`];
  for (const isReadable of [false, true]) {
    const stream = slowStream();
    const log = createLog(stream, isReadable);
    log.request({ requestId: key, path: `/v1/${key}x/${cut}`, status: 404, plan: 'free', durationMs: 1 });
    log.error('database failed', { error: `no row for ${key}`, id: 'so_short' });
    log.flush();
    const text = stream.writes.join('');
    assert.doesNotMatch(text, /a1a1|ZZZ/);
    assert.match(text, /\/v1\/so_\*\*\*\/so_\*\*\*/);
    assert.match(text, /no row for so_\*\*\*.*so_short/);
  }
});

test('a line that a pipe would not accept in one piece, or a collector would split, has the beginning of each long field', () => {
  for (const isReadable of [false, true]) {
    const stream = slowStream();
    const log = createLog(stream, isReadable);
    log.error('database failed', { error: '\u0001é'.repeat(10_000), worker: 2 });
    log.request({
      requestId: 'a',
      path: `/${'"'.repeat(1_023)}`,
      status: 503,
      plan: 'free',
      error: 'é'.repeat(900),
      durationMs: 1,
    });
    log.flush();
    while (stream.take()) log.flush();
    assert.equal(stream.writes.join('').match(/\n/g)?.length, 2);
    for (const batch of stream.writes) assert.ok(batch.length <= 4_096, `${batch.length}`);
    if (isReadable) continue;
    assert.deepEqual(
      stream.lines().map(({ error, worker, status }) => [error.length, error.slice(-3), worker, status]),
      [
        [259, '...', 2, undefined],
        [259, '...', undefined, 503],
      ],
    );
  }
});

test('on a terminal, a line has the time of day, the event and its fields', () => {
  const stream = slowStream();
  const log = createLog(stream, true);
  log.event('listening', { url: 'http://[::1]:80/v1', socket: undefined, db: 'my shop.db' });
  log.error('worker ended', { worker: 2 });
  log.flush();
  assert.match(
    stream.writes.join(''),
    /^\d\d:\d\d:\d\d\.\d{3} listening url=http:\/\/\[::1\]:80\/v1 db="my shop\.db"\n\S+ ERROR worker ended worker=2\n$/,
  );
});

test('the line of an event has the number of the worker that wrote it', () => {
  const stream = slowStream();
  const log = createLog(stream, false, 2);
  log.event('listening');
  log.flush();
  assert.equal(stream.lines()[0].worker, 2);
});

test('whatever a client sends, its log line is ASCII JSON, and the duration is exact to the microsecond', () => {
  const hostile = ['"', '\\', '\n', '\u0000', '\u007f', 'é', '\u2028', '😀', '{"a":1}', '/plain', ''];
  for (const path of hostile) {
    const stream = slowStream();
    const log = createLog(stream, false, 2);
    const startMs = Date.now();
    log.request({
      ...{ requestId: 'a-1', method: path, path, clientAddress: path, orderId: 2n ** 63n - 1n, keyId: path },
      ...{ plan: 'free', status: 503, code: 'service_unavailable', error: new Error(path), durationMs: 1.0006 },
    });
    log.flush();
    assert.match(stream.writes.join(''), /^[ -~]+\n$/);
    const [{ time, ...fields }] = stream.lines();
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Date.parse(time) >= startMs && Date.parse(time) <= Date.now());
    assert.deepEqual(fields, {
      ...{ level: 'error', event: 'request', worker: 2, requestId: 'a-1', method: path, path, clientAddress: path },
      ...{ orderId: '9223372036854775807', keyId: path, status: 503, code: 'service_unavailable', error: path },
      durationMs: 1.001,
    });
  }
});

test('with --json, the log is JSON even on a terminal', async (t) => {
  const server = await startServer(t, { env: onTerminal('stdout') }, '--json');
  assert.equal(server.log()[0]?.['event'], 'listening');
});

test('an unread log does not prevent the server from exiting', { timeout: 60_000 }, async (t) => {
  const server = await startServer(t, {}, '--no-sample');
  server.child.stdout?.pause();
  const headers = { 'X-Request-Id': 'x'.repeat(128) };
  // These lines take twice as much as fits into the pipe and the buffer of this process.
  for (let n = 0; n < 12; n++) {
    await Promise.all(Array.from({ length: 100 }, () => fetch(`${server.url}/store/orders`, { headers })));
  }
  assert.equal(await server.stop('SIGTERM'), 0);
});

test('the second line of a request whose list was cut off has its error, its bytes and `isCutOff`', () => {
  const stream = slowStream();
  const log = createLog(stream, false);
  log.request({ requestId: 'a', status: 200, plan: 'free', error: 'cut off', bytes: 7, isCutOff: true, durationMs: 1 });
  log.flush();
  const [{ event, error, bytes, isCutOff }] = stream.lines();
  assert.deepEqual([event, error, bytes, isCutOff], ['request', 'cut off', 7, true]);
});
