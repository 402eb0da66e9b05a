import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { forgetPeak, MIB, mebibytes, peakBytes } from '../../support/memory.js';
import { messageFrom } from '../../support/outer-environment.js';
import { until } from '../../support/until.js';

const HOST = fileURLToPath(new URL('support/list-host.ts', import.meta.url));

interface Report {
  readonly served: number;
  readonly beside: Readonly<Record<string, number>>;
  readonly cut: number;
  readonly most: { readonly atOnce: number; readonly ofOneKey: number };
  readonly arrayBuffers: number;
}

async function startHost(t: TestContext, kind: string, orders = 100_000) {
  const child = fork(HOST, [kind, `${orders}`], {
    // Otherwise the peak of the memory depends on when the threads that collect garbage get a core.
    execArgv: ['--import', 'tsx', '--max-old-space-size=256', '--single-threaded-gc'],
  });
  t.after(() => child.kill());
  const { port } = await messageFrom<{ readonly port: number }>(child);
  const ask = (message: string) => () => {
    child.send(message);
    return messageFrom<Report>(child);
  };
  return { port, report: ask('report'), counts: ask('counts'), child };
}

/** Sends a request, by default for the list. */
function ask(port: number, key: string, method = 'GET', id = ''): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(
    `${method} /v1/store/orders${id} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
  );
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

/** How many of the crowd ask again after a 503. */
const ATTACKERS = 60;
const WHOLE = 'long, ends with ]';
const REFUSED = /^\d+, ends with }$/;

for (const { requests, keys } of [
  { requests: 60, keys: 1 },
  { requests: 300, keys: 1 },
  { requests: 60, keys: 6 },
]) {
  test(`${requests} requests of ${keys} ${keys === 1 ? 'key' : 'keys'} for 100,000 orders without a version take less than 75 MB, one list of each key is made at a time, and four in all; a customer waits for few of them`, async (t) => {
    const { port, counts, child } = await startHost(t, 'without a version');
    await read(ask(port, 'customer'));
    const base = peakBytes(child.pid);
    const crowd: Socket[] = [];
    const refused = { crowd: 0, customer: 0 };
    const startMs = performance.now();
    let isOver = false;
    /** Those that have waited for their turn for 5 s, or behind 32 others, get a 503, and ask again. */
    async function attack(first: Socket, n: number): Promise<void> {
      for (let list = await read(first); list !== WHOLE; list = await read(ask(port, `attacker${n % keys}`))) {
        assert.match(list, REFUSED);
        refused.crowd++;
        if (isOver) return;
        // As Retry-After says. Without a pause, the key would use up its quota.
        await sleep(1_000);
      }
    }
    for (let n = 0; n < requests; n++) crowd.push(ask(port, `attacker${n % keys}`));
    const attacking = crowd.slice(0, ATTACKERS).map(attack);
    await until(async () => (await counts()).served > 1);
    /** How many lists of the crowd were made while the customer waited for each response. */
    const beside = { cancels: [] as number[], lists: [] as number[] };
    async function waitFor(waits: number[], method?: string, id?: string): Promise<string> {
      const body = await read(ask(port, 'customer', method, id));
      waits.push((await counts()).beside['customer'] ?? Number.NaN);
      return body;
    }

    for (let n = 1; n <= 3; n++) {
      assert.match(await waitFor(beside.cancels, 'DELETE', `/${n}`), REFUSED);
      let list = await waitFor(beside.lists);
      // On a busy machine, the few lists before it may take longer than 5 s.
      for (let tries = 0; list !== WHOLE && tries < 10; tries++) {
        assert.match(list, REFUSED);
        refused.customer++;
        list = await waitFor(beside.lists);
      }
      assert.equal(list, WHOLE);
    }
    isOver = true;
    await Promise.all(attacking);
    const seconds = Math.ceil((performance.now() - startMs) / 1_000);
    for (const socket of crowd) socket.destroy();
    assert.equal(await read(ask(port, 'customer')), WHOLE);
    const { most } = await counts();
    const more = peakBytes(child.pid) - base;
    t.diagnostic(JSON.stringify({ refused, seconds, beside, most, more: mebibytes(more), base: mebibytes(base) }));
    assert.ok(more < 75 * MIB, mebibytes(more));
    assert.ok(refused.crowd <= ATTACKERS * seconds, `${refused.crowd} times a 503 in ${seconds} s`);
    assert.deepEqual(most, { atOnce: Math.min(keys + 1, 4), ofOneKey: 1 });
    // A cancel waits for no turn, but lists that are being made can end first.
    assert.ok(Math.max(...beside.cancels) <= 4, `${beside.cancels} lists of the crowd before a cancel`);
    assert.ok(Math.max(...beside.lists) <= keys + 4, `${beside.lists} lists of the crowd before one of the customer`);
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
    for (let request = 0; request < 150; request++) {
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
