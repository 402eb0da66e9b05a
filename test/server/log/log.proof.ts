import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { createLog } from '../../../src/server/log/log.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { run, spawnProgram, startServer } from '../support/program.js';

/** Makes the program believe that its output is a terminal. */
const ON_TERMINAL = { NODE_OPTIONS: '--import=data:text/javascript,process.stdout.isTTY=process.stderr.isTTY=true' };

test('the log is readable text on a terminal, or JSON with --json', async (t) => {
  const cwd = temporaryDirectory();
  const child = spawnProgram(['--port', '0', '--no-sample'], { cwd, env: ON_TERMINAL });
  t.after(() => child.kill('SIGKILL'));
  let stdout = '';
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
  });
  await until(() => stdout.includes('\n'));
  const url = /url=(\S+)/.exec(stdout)?.[1] ?? '';
  await fetch(`${url}/store/orders`);
  child.kill('SIGTERM');
  await once(child, 'exit');
  const time = String.raw`\d\d:\d\d:\d\d\.\d{3}`;
  assert.match(
    stdout,
    new RegExp(
      `^${time} listening url=http://127\\.0\\.0\\.1:\\d+/v1 db=store-orders\\.db\n` +
        `${time} request requestId=\\S+ method=GET path=/v1/store/orders clientAddress=127\\.0\\.0\\.1 ` +
        'status=401 bytes=\\d+ code=missing_api_key durationMs=[\\d.]+\n' +
        `${time} stopping signal=SIGTERM\n${time} stopped\n$`,
    ),
  );

  const json = await startServer(t, { cwd, env: ON_TERMINAL }, '--json');
  assert.equal(json.log()[0]?.['event'], 'listening');
});

/** Makes the program add a line to each write of its log, with the length of the write. */
const MARKED =
  'const { stdout } = process; const write = stdout.write.bind(stdout); ' +
  'stdout.write = (text, written) => ' +
  'write(text + JSON.stringify({ event: "written", bytes: text.length }) + String.fromCharCode(10), written);';

test('log lines of the same pass of the event loop are written together', async (t) => {
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(MARKED)}` };
  const server = await startServer(t, { cwd: temporaryDirectory(), env }, '--no-sample');
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.write(`${'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(14)}GET / HTTP/1.0\r\n\r\n`);
  await text(socket);
  await server.stop('SIGTERM');
  const events = server.log().map(({ event }) => event);
  assert.equal(events.filter((event) => event === 'request').length, 15);
  const writes = events.filter((event) => event === 'written').length;
  assert.ok(writes <= 5, `${writes} writes`);
  // A pipe may mix a write of more than 4,096 bytes with the writes of other processes.
  for (const { bytes = 0 } of server.log()) assert.ok(Number(bytes) <= 4_096);
});

test('one write to a log file can have more than 4,096 bytes', { timeout: 20_000 }, async (t) => {
  const cwd = temporaryDirectory();
  const file = join(cwd, 'log.ndjson');
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(MARKED)}` };
  const under = ['sh', '-c', 'exec "$0" "$@" > log.ndjson'];
  const child = spawnProgram(['--port', '0', '--no-sample'], { cwd, env, under });
  t.after(() => child.kill('SIGKILL'));
  const logged = () => [...readFileSync(file, 'utf8').matchAll(/.+(?=\n)/g)].map(([line]) => JSON.parse(line));
  await until(() => existsSync(file) && logged().length > 1);
  const { hostname, port } = new URL(logged()[0].url);
  const target = `/${'x'.repeat(200)}`;
  const socket = connect(Number(port), hostname);
  socket.write(`${`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(14)}GET ${target} HTTP/1.0\r\n\r\n`);
  await text(socket);
  await until(() => logged().filter(({ event }) => event === 'request').length === 15);
  assert.ok(Math.max(...logged().map(({ event, bytes }) => (event === 'written' ? bytes : 0))) > 4_096);
});

test('each log line has the exact time of its event, even after the clock steps back', (t) => {
  const texts: string[] = [];
  const write = (batch: string, written: () => void) => {
    texts.push(batch);
    written();
  };
  const log = createLog({ write }, false);
  const times = [999, 1_000, 1_007, 1_007, 61_020, 61_019].map((ms) => Date.UTC(2026, 0, 31, 23, 59, 59) + ms);
  t.mock.timers.enable({ apis: ['Date'] });
  for (const ms of times) {
    t.mock.timers.setTime(ms);
    log.event('tick');
    log.flush();
  }
  assert.deepEqual(
    texts.map((line) => JSON.parse(line).time),
    times.map((ms) => new Date(ms).toISOString()),
  );
});

test('an unread log does not prevent the server from exiting', async (t) => {
  const server = await startServer(t, { cwd: temporaryDirectory() }, '--no-sample');
  server.child.stdout?.pause();
  const { hostname, port } = new URL(server.url);
  for (let n = 0; n < 10; n++) {
    const socket = connect(Number(port), hostname);
    socket.write(`${'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(500)}GET / HTTP/1.0\r\n\r\n`);
    await text(socket);
  }
  const late = setTimeout(() => server.child.kill('SIGKILL'), 10_000);
  const exited = once(server.child, 'exit');
  server.child.kill('SIGTERM');
  const [code] = await exited;
  clearTimeout(late);
  assert.equal(code, 0);
});

test('log lines that nobody reads are kept up to a limit, and one line reports how many more were dropped', async () => {
  const texts: string[] = [];
  let written = () => {};
  const stream = {
    write(text: string, then: () => void) {
      texts.push(text);
      written = then;
    },
  };
  const log = createLog(stream, false);
  const say = (count: number) => {
    for (let n = 0; n < count; n++) log.event('x'.repeat(1_000));
  };
  say(1);
  log.flush();
  say(20_000);
  log.event('later');
  for (let before = 0; before < texts.length; ) {
    before = texts.length;
    written();
  }
  const events = texts
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const kept = events.filter(({ event }) => event.startsWith('xxx')).length;
  assert.ok(kept * 1_000 < 17 * 2 ** 20, `${kept} kept`);
  assert.deepEqual(
    events.slice(kept).map(({ level, event, lines }) => [level, event, lines]),
    [['error', 'log lines dropped because the log was not read in time', 20_002 - kept]],
  );
});

test('an import draws its progress on a terminal, and removes it at the end', async () => {
  const cwd = temporaryDirectory();
  const lines = Array.from({ length: 20_000 }, (_, id) => `{"id":${id}}\n`).join('');
  writeFileSync(join(cwd, 'orders.ndjson'), lines);
  const { stdout, stderr } = await run(['orders', 'import', 'orders.ndjson'], { cwd, env: ON_TERMINAL });
  assert.equal(stdout, '20000 orders imported: 20000 pending\n');
  const drawn = stderr.split('\r').slice(1);
  assert.match(drawn[0] ?? '', /^importing \[=+ +\] \d+ %$/);
  assert.match(drawn.at(-2) ?? '', /^ +$/);
  assert.equal(drawn.at(-1), '');
});

test('whatever a client sends, its log line is ASCII JSON, and the duration is exact to the microsecond', () => {
  let text = '';
  const log = createLog(
    {
      write: (batch, written) => {
        text += batch;
        written();
      },
    },
    false,
    { worker: 2 },
  );
  const hostile = ['"', '\\', '\n', '\u0000', '\u007f', 'é', '\u2028', '😀', '{"a":1}', '/plain', ''];
  for (const path of hostile) {
    text = '';
    log.request({
      ...{ requestId: 'a-1', method: path, path, clientAddress: path, keyId: path, plan: 'free' },
      ...{ status: 503, code: 'service_unavailable', error: new Error(path), durationMs: 1.0005 + path.length },
    });
    log.flush();
    assert.match(text, /^[ -~]+\n$/);
    const { time, durationMs, ...fields } = JSON.parse(text);
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(durationMs, Math.round((1.0005 + path.length) * 1_000) / 1_000);
    assert.deepEqual(fields, {
      ...{ level: 'error', event: 'request', worker: 2, requestId: 'a-1', method: path, path, clientAddress: path },
      ...{ status: 503, code: 'service_unavailable', keyId: path, error: path },
    });
  }
});
