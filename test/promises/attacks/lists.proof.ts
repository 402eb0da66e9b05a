import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { forgetPeak, MIB, mebibytes, peakBytes } from '../../support/memory.js';
import { until } from '../../support/until.js';

const HOST = fileURLToPath(new URL('support/list-host.ts', import.meta.url));

interface Report {
  readonly served: readonly string[];
  readonly cut: number;
  readonly arrayBuffers: number;
}

async function startHost(t: TestContext, kind: string, orders = 100_000) {
  const child = fork(HOST, [kind, `${orders}`], { execArgv: ['--import', 'tsx', '--max-old-space-size=256'] });
  t.after(() => child.kill());
  const { port } = await answerOf<{ readonly port: number }>(child);
  const report = () => {
    child.send('report');
    return answerOf<Report>(child);
  };
  return { port, report, child };
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  return (await once(child, 'message'))[0];
}

/** Sends a request for the list. */
function ask(port: number, key: string): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`GET /v1/store/orders HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`);
  return socket;
}

/** Reads a response to its end. Returns its length, and whether its last byte ends a list. */
async function read(socket: Socket): Promise<string> {
  let bytes = 0;
  let last = 0;
  socket.on('data', (chunk) => {
    bytes += chunk.length;
    last = chunk.at(-1) ?? 0;
  });
  await once(socket, 'close');
  return `${bytes > 1e6 ? 'long' : bytes}, ends with ${String.fromCharCode(last)}`;
}

const WHOLE = 'long, ends with ]';

for (const [crowd, orders] of [
  [60, 100_000],
  [300, 20_000],
] as const) {
  test(`${crowd} requests of one key for ${orders} orders without a version take less than 75 MB, and another key waits for few of them`, async (t) => {
    const { port, report, child } = await startHost(t, 'without a version', orders);
    await read(ask(port, 'customer'));
    const base = peakBytes(child.pid);
    const attacking = Array.from({ length: crowd }, () => ask(port, 'attacker')).map(read);
    await until(async () => (await report()).served.includes('attacker'));
    const before = (await report()).served.length;
    for (let list = 0; list < 3; list++) assert.equal(await read(ask(port, 'customer')), WHOLE);
    const served = (await report()).served.slice(before);
    const others = served.filter((key) => key === 'attacker').length;
    for (const list of await Promise.all(attacking)) assert.equal(list, WHOLE);
    const more = peakBytes(child.pid) - base;
    t.diagnostic(`${others} lists of the crowd beside three; ${mebibytes(more)} beyond ${mebibytes(base)}`);
    assert.ok(others <= 20, `${others} lists of the crowd were made meanwhile`);
    assert.ok(more < 75 * MIB, mebibytes(more));
  });
}

for (const [kind, cuts] of [
  ['to which an order is appended', false],
  ['in front of which an order is put', true],
] as const) {
  test(`a key that asks for a list ${kind}, and does not read, makes a server keep 64 MB, and what its sockets hold`, async (t) => {
    const { port, report, child } = await startHost(t, kind, 50_000);
    await read(ask(port, 'customer'));
    forgetPeak(child.pid);
    const base = (await report()).arrayBuffers;
    // Reads a list, as slowly as it is allowed to.
    const slow = ask(port, 'customer').pause();
    const sockets: Socket[] = [];
    for (let request = 0; request < 30; request++) {
      const socket = ask(port, 'attacker');
      await once(socket, 'readable');
      sockets.push(socket);
    }
    await sleep(100);
    const { cut, arrayBuffers } = await report();
    t.diagnostic(
      `${mebibytes(arrayBuffers - base)} beyond ${mebibytes(base)}, ${cut} cut; peak ${mebibytes(peakBytes(child.pid))}`,
    );
    assert.equal(cut > 0, cuts);
    assert.ok(arrayBuffers - base < 100 * MIB, mebibytes(arrayBuffers - base));
    assert.equal(await read(slow.resume()), WHOLE, 'the only list of a key is not cut off');
    for (const socket of sockets) socket.destroy();
  });
}
