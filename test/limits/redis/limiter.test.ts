import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createPlan, perDay } from 'store-orders/limiter';
import { createRedisLimiter, type LimiterMode, type RedisLimiterOptions } from 'store-orders/redis';

// The Redis limiter over a server that this file plays.

const DEADLINE_MS = 250;
const SLOW_MS = 40;
const PLAN = createPlan({ name: 'daily', policies: [perDay(100)] });

/** Whether the server replies, fails at once, or does not reply. */
let server: 'replies' | 'fails' | 'hangs';
let sent: string[];
let modes: string[];
let late: (() => void)[];

/** A clock that only `pass` moves, because a busy machine would let real time pass between two steps. */
let nowMs = performance.now();

beforeEach(() => {
  server = 'replies';
  [sent, modes, late] = [[], [], []];
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(performance, 'now', () => nowMs);
});

afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
});

/** Creates a limiter on a server that allows every request. */
function open(options: Partial<RedisLimiterOptions> = {}) {
  return createRedisLimiter({
    deadlineMs: DEADLINE_MS,
    onMode: (mode: LimiterMode, error) => modes.push(error === undefined ? mode : `${mode}: ${error}`),
    async send([command]) {
      sent.push(command);
      if (server === 'fails') throw new Error('away');
      if (server === 'hangs') await new Promise<void>((resolve) => late.push(resolve));
      return [1_700_000_000_000, -1, 1, 1_000];
    },
    ...options,
  });
}

/** Lets time pass, and then all that became due. */
async function pass(ms: number): Promise<void> {
  nowMs += ms;
  mock.timers.tick(ms);
  for (let n = 0; n < 3; n++) await turn();
}

/** Sends `count` requests at once to a server that does not reply, until their deadline has passed. */
async function pause(limiter: ReturnType<typeof open>, count: number): Promise<void> {
  server = 'hangs';
  const decisions = Promise.all(Array.from({ length: count }, () => limiter.take('key', PLAN)));
  await pass(DEADLINE_MS);
  for (const { allowed } of await decisions) assert.ok(allowed);
}

test('a request whose call is late is decided by this process, and the mode does not change', async () => {
  const limiter = open();
  server = 'hangs';
  let isDecided = false;
  const decision = Promise.resolve(limiter.take('key', PLAN)).finally(() => {
    isDecided = true;
  });
  await pass(DEADLINE_MS - 1);
  assert.ok(!isDecided);
  await pass(1);
  assert.equal((await decision).inForce.remaining, 99, 'the local limiter has its own count');
  assert.deepEqual(modes, []);
  assert.equal(limiter.mode, 'shared');
});

test('pauses that make many calls late change no mode, as long as the server replies in between', async () => {
  const limiter = open();
  for (let n = 0; n < 5; n++) {
    await pause(limiter, 10);
    await pause(limiter, 1);
    server = 'replies';
    await limiter.take('key', PLAN);
  }
  assert.deepEqual(modes, []);
});

test('after three failures in a row no request waits, and one probe a second that writes ends the outage', async () => {
  const limiter = open();
  for (let n = 0; n < 3; n++) {
    assert.deepEqual(modes, []);
    await pause(limiter, 2);
  }
  assert.deepEqual(modes, [`local: Error: no reply within ${DEADLINE_MS} ms`]);
  sent = [];
  for (let n = 0; n < 50; n++) assert.equal(limiter.take('key', PLAN) instanceof Promise, false);
  assert.deepEqual([sent, limiter.mode], [[], 'local']);

  server = 'fails';
  for (let second = 0; second < 3; second++) {
    await pass(900);
    limiter.take('key', PLAN);
    assert.equal(sent.length, second);
    await pass(100);
    for (let n = 0; n < 10; n++) limiter.take('key', PLAN);
    await turn();
    assert.equal(sent.length, second + 1);
  }
  server = 'replies';
  await pass(1_000);
  assert.equal(limiter.mode, 'local', 'reading the mode starts a probe');
  await turn();
  assert.equal(limiter.mode, 'shared');
  assert.deepEqual(modes.slice(1), ['shared']);
  assert.deepEqual(new Set(sent), new Set(['SETRANGE']));
});

test('in a cluster, the probe asks the server of the last failed call, whatever keys are decided here meanwhile', async () => {
  let away = '';
  const probed: string[] = [];
  const limiter = open({
    async send([command], key) {
      if (command === 'SETRANGE') probed.push(key);
      away ||= key;
      if (key === away) throw new Error('away');
      return [1_700_000_000_000, -1, 1, 1_000];
    },
  });
  for (let n = 0; n < 3; n++) await limiter.take('of the server that is away', PLAN);
  limiter.take('of another server', PLAN);
  await pass(1_000);
  limiter.take('of another server', PLAN);
  await turn();
  assert.deepEqual([probed, limiter.mode], [[away], 'local']);
});

test('a late reply does not end a row of failures', async () => {
  const limiter = open();
  await pause(limiter, 1);
  server = 'replies';
  for (const reply of late) reply();
  await turn();
  await pause(limiter, 1);
  assert.deepEqual(modes, []);
  await pause(limiter, 1);
  assert.equal(modes.length, 1);
});

test('with onBackendError closed every request is rejected during an outage, with open none is refused', async () => {
  server = 'fails';
  const closed = open({ onBackendError: 'closed' });
  for (let n = 0; n < 5; n++) {
    await assert.rejects(async () => closed.take('key', PLAN), { message: 'the request cannot be counted' });
  }
  assert.equal(closed.mode, 'closed');
  const one = createPlan({ name: 'one', policies: [perDay(1)], ban: { after: 1, graceMs: 0 } });
  const opened = open({ onBackendError: 'open' });
  for (let n = 0; n < 6; n++) assert.equal((await opened.take('key', one)).verdict, 'within_quota');
  assert.equal(opened.mode, 'open');
});

for (const [way, thereMs, backMs] of [
  ['to the server', SLOW_MS, 0],
  ['from the server', 0, SLOW_MS],
] as const) {
  test(`a repeated refusal's wait is never too short, and at most a round trip too long, if each message ${way} takes ${SLOW_MS} ms`, async () => {
    const windowMs = 9_700;
    const plan = createPlan({ name: 'long', policies: [{ name: 'long', quota: 1, windowMs }], ban: false });
    const serverMs = () => Math.floor(nowMs + 1e12);
    const resetAtMs = serverMs() + windowMs;
    const limiter = open({
      onBackendError: 'closed',
      async send([command]) {
        sent.push(command);
        nowMs += thereMs;
        const leftMs = resetAtMs - serverMs();
        const reply = leftMs > 0 ? [serverMs(), 0, 1, leftMs] : [serverMs(), -1, 1, windowMs];
        nowMs += backMs;
        return reply;
      },
    });
    let refused = 0;
    for (; ; refused++) {
      const { allowed, retryAfterMs } = await limiter.take('abuser', plan);
      if (allowed) break;
      const tooLongMs = retryAfterMs - (resetAtMs - serverMs());
      assert.ok(tooLongMs >= 0 && tooLongMs <= SLOW_MS + 2, `${tooLongMs} ms too long`);
      nowMs += 7.3;
    }
    assert.ok(serverMs() <= resetAtMs + 2 * SLOW_MS, 'the key passes when its window has reset');
    assert.ok(refused > 1_000 && sent.length <= 12, `${sent.length} calls for ${refused} refusals`);
  });
}

test('an invalid cost or option throws an error that names the argument', () => {
  const limiter = open();
  for (const method of ['take', 'peek'] as const) {
    assert.throws(() => limiter[method]('key', PLAN, 101), { name: 'RangeError', message: /^cost: / });
  }
  for (const [option, name, value] of [
    ['send', 'TypeError', undefined],
    ['prefix', 'TypeError', 5],
    ['onBackendError', 'TypeError', 'panic'],
    ['deadlineMs', 'RangeError', 0],
    ['deadlineMs', 'TypeError', '100'],
    ['refusalCacheMs', 'RangeError', 1_001],
    ['onMode', 'TypeError', 'log'],
    ['maxAddresses', 'RangeError', 0],
  ] as const) {
    assert.throws(() => open({ [option]: value }), { name, message: RegExp(`^${option}: `) });
  }
});

test('the limiter treats a Redis server that returns an invalid reply as failing', async () => {
  for (const answer of ['OK', null, [], [1, 2], ['x', 0, 0, 0]]) {
    const limiter = open({ send: async () => answer, onBackendError: 'closed' });
    await assert.rejects(async () => limiter.take('key', PLAN), /cannot be counted/);
  }
  const throwing = open({
    send() {
      throw new Error('not connected');
    },
  });
  assert.equal((await throwing.take('key', PLAN)).inForce.remaining, 99);
  assert.equal((await throwing.peek('key', PLAN)).inForce.remaining, 98);
});
