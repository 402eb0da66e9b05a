import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createPlan, perDay } from 'store-orders/limiter';
import { createRedisLimiter, type LimiterMode, type RedisLimiterOptions, type SendCommand } from 'store-orders/redis';

// The Redis limiter over a server that this file plays.

const DEADLINE_MS = 250;
const PLAN = createPlan({ name: 'daily', policies: [perDay(100)] });
/** The name of the record of `key`. It ends with the SHA-256 digest of the key. */
const RECORD = 'store-orders:2:LHDhK3oGRvkiefQnx7OOczTY5Tic_xZ6HcMOc_gmtoM';

/** Whether the server replies, fails at once, does not reply, or has not seen the script yet. */
let server: 'replies' | 'fails' | 'hangs' | 'lacks the script';
let sent: Parameters<SendCommand>[0][];
let modes: string[];
let late: (() => void)[];

/** A clock that only `pass` moves, because a busy machine would let real time pass between two steps. */
let nowMs: number;

describe('a limiter over Redis, on a clock that only the tests move', () => {
  beforeEach(() => {
    server = 'replies';
    [sent, modes, late] = [[], [], []];
    nowMs = 10_000;
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
      onMode: (mode: LimiterMode, error) => modes.push(error === undefined ? mode : `${mode}: ${error}`),
      async send(command) {
        sent.push(command);
        if (server === 'fails') throw new Error('away');
        if (server === 'lacks the script' && command[0] === 'EVALSHA') throw new Error('NoScriptError');
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
    assert.deepEqual(modes.slice(1), ['local: Error: away', 'shared'], 'a new reason is reported once');
    const probe = ['1', RECORD, '[]', 'false', '0', 'probe'];
    assert.deepEqual(
      sent.map(([name, , ...rest]) => [name, ...rest]),
      Array(4).fill(['EVALSHA', ...probe]),
    );
  });

  test('an `onMode` that throws or rejects fails no request, and becomes a warning', async () => {
    const warnings = mock.method(process, 'emitWarning', () => {});
    for (const onMode of [() => assert.fail('log closed'), () => Promise.reject(new Error('pager away'))]) {
      const limiter = open({ onMode });
      server = 'fails';
      for (let n = 0; n < 3; n++) assert.ok((await limiter.take('key', PLAN)).allowed);
      server = 'replies';
      await pass(1_000);
      assert.equal(limiter.mode, 'local');
      await turn();
      assert.equal(limiter.mode, 'shared');
    }
    const texts = warnings.mock.calls.map(({ arguments: [text] }) => text);
    const [first, second] = ['onMode failed: log closed', 'onMode failed: pager away'];
    assert.deepEqual(texts, [first, first, second, second]);
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

  test('a reply that arrived before the deadline decides, although this process was too busy to read it', async () => {
    const limiter = open();
    server = 'hangs';
    const decision = limiter.take('key', PLAN);
    mock.timers.tick(DEADLINE_MS);
    for (const reply of late) reply();
    assert.equal((await decision).nowMs, 1_700_000_000_000);
    await turn();
    for (let n = 0; n < 2; n++) await pause(limiter, 1);
    assert.deepEqual(modes, [], 'only the two pauses have failed');
  });

  test('a request that is decided leaves no timer behind, which would keep the process running', async () => {
    mock.timers.reset();
    for (server of ['replies', 'fails'] as const) await open().take('key', PLAN);
    assert.equal(process.getActiveResourcesInfo().includes('Timeout'), false);
  });

  test('with onBackendError closed every request is rejected during an outage, with open none is refused', async () => {
    server = 'fails';
    const closed = open({ onBackendError: 'closed' });
    for (let n = 0; n < 5; n++) {
      await assert.rejects(async () => closed.take('key', PLAN), { message: 'the request cannot be counted' });
    }
    assert.equal(closed.mode, 'closed');
    assert.equal(sent.length, 3, 'a failed call is not sent again');
    const one = createPlan({ name: 'one', policies: [perDay(1)], ban: { after: 1, graceMs: 0 } });
    const opened = open({ onBackendError: 'open' });
    for (let n = 0; n < 6; n++) assert.equal((await opened.take('key', one)).result, 'within_quota');
    assert.equal(opened.mode, 'open');
  });

  test('during an outage, the 10,000 most recent bans of the server hold, so memory does not grow with every key that was ever banned', async () => {
    const banned: SendCommand = async () => [1_700_000_000_000, 1_700_000_060_000, 0, 86_400_000];
    let send = banned;
    const limiter = open({ send: (...call) => send(...call) });
    for (let n = 0; n <= 10_000; n++) assert.equal((await limiter.take(`key ${n}`, PLAN)).result, 'banned');
    send = () => Promise.reject(new Error('away'));
    for (let n = 0; n < 3; n++) await limiter.take('somebody else', PLAN);
    const results = [0, 1, 10_000].map(async (n) => (await limiter.peek(`key ${n}`, PLAN)).result);
    assert.deepEqual(await Promise.all(results), ['within_quota', 'banned', 'banned']);
  });

  test('the requests of each address are counted in this process, without calls to the server', async () => {
    const strangers = createPlan({ name: 'strangers', policies: [perDay(2)], partition: 'address' });
    const limiter = open({ maxAddresses: 1 });
    assert.equal((await limiter.take('192.0.2.1', strangers)).inForce.remaining, 1);
    assert.equal((await limiter.take('192.0.2.2', strangers)).inForce.remaining, 1);
    assert.equal((await limiter.take('192.0.2.3', strangers)).inForce.remaining, 0, 'the shared bucket is used');
    assert.equal((await limiter.peek('192.0.2.1', strangers, 0)).inForce.remaining, 1);
    assert.deepEqual(sent, []);
  });

  test('only a server that says, in the words of any client, that it lacks the script gets it, with the call', async () => {
    server = 'lacks the script';
    await open().take('key', PLAN);
    assert.deepEqual([sent.map(([name]) => name), modes], [['EVALSHA', 'EVAL'], []]);
  });

  test('an invalid option or length of a ban throws an error that names it', async () => {
    for (const [error, value] of [
      ['TypeError: onBackendError: expected local or open or closed', 'panic'],
      ['RangeError: deadlineMs: expected a whole number from 1 to 60000', 0],
      ['TypeError: deadlineMs: expected a whole number from 1 to 60000', '100'],
      ['RangeError: refusalCacheMs: expected a whole number from 0 to 1000', 1_001],
      ['RangeError: maxAddresses: expected a whole number from 1 to 8000000', 0],
      ['RangeError: maxAddresses: expected a whole number from 1 to 8000000', 8_000_001],
      ['TypeError: clock: expected an object with the method nowMs', { utcOffsetMs: Date.now }],
      ['TypeError: clock: expected an object with the method utcOffsetMs', { nowMs: Date.now }],
    ] as const) {
      const [, option = ''] = error.split(': ');
      assert.throws(
        () => open({ [option]: value }),
        (thrown) => String(thrown) === error,
        error,
      );
    }
    await assert.rejects(open().ban('key', 0), new RangeError('ms: expected a whole number from 1 up'));
  });

  test('a server whose reply does not have the right number of integers counts as failing, and so does a `send` that throws', async () => {
    for (const answer of ['OK', null, [], [1, 2], ['x', 0, 0, 0]]) {
      const limiter = open({ send: async () => answer, onBackendError: 'closed' });
      await assert.rejects(async () => limiter.take('key', PLAN), {
        message: 'the request cannot be counted',
        cause: new TypeError("send: expected the server's reply, a list of 4 integers"),
      });
    }
    const throwing = open({ send: () => assert.fail('not connected') });
    assert.equal((await throwing.take('key', PLAN)).inForce.remaining, 99);
    assert.equal((await throwing.peek('key', PLAN)).inForce.remaining, 98);
  });
});
