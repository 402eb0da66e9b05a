import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMetricsServer } from '../../../src/server/metrics/metrics-server.js';
import { open, readText } from '../../http/support/raw-socket.js';
import { listenOnFreePort } from '../../support/listen.js';

async function listen(t: TestContext, text: () => Promise<string>): Promise<number> {
  const server = createMetricsServer(text);
  t.after(() => server.close().closeAllConnections());
  return listenOnFreePort(server);
}

test('every error of the metrics port is an Error object', async (t) => {
  const port = await listen(t, () => Promise.reject(new Error('unreadable')));
  for (const [request, code] of [
    ['GET /metrics HTTP/1.1\r\n\r\n', 'bad_request'],
    ['GET /metrics HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', 'bad_request'],
    ['GET /metrics HTTP/1.1\r\nHost: x y\r\n\r\n', 'bad_request'],
    ['GET /metrics HTTP/9\r\n\r\n', 'bad_request'],
    ['GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'route_not_found'],
    ['POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n', 'method_not_allowed'],
    ['GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n', 'internal_error'],
  ] as const) {
    const socket = open(port, request.replace(/\r\n$/, 'Connection: close\r\n\r\n'));
    const [head = '', body = ''] = (await readText(socket)).split('\r\n\r\n');
    const error = JSON.parse(body);
    assert.deepEqual([error.code, Object.keys(error).sort()], [code, ['code', 'message', 'status']], request);
    assert.ok(head.startsWith(`HTTP/1.1 ${error.status} `), head);
  }
});

test('the metrics port closes a connection that sends a request while another one waits', async (t) => {
  let calls = 0;
  const port = await listen(t, async () => `${++calls}\n`);
  const request = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n';
  const received = await readText(open(port, request.repeat(2_000)));
  assert.ok((received.match(/HTTP\/1\.1 200/g) ?? []).length <= 1);
  assert.equal(calls, 1);
  // One request after the other may use the same connection.
  for (let n = 0; n < 3; n++) assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`)).status, 200);
});
