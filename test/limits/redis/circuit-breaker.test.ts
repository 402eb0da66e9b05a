import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createPlan, perDay } from 'store-orders/limiter';
import { createRedisLimiter, type LimiterMode } from 'store-orders/redis';

const DEADLINE_MS = 250;
const PLAN = createPlan({ name: 'daily', policies: [perDay(100)] });
const SERVER_MS = 1_700_000_000_000;

describe('a limiter over a cluster with a dead shard, on a clock that only the tests move', () => {
  let nowMs: number;

  beforeEach(() => {
    nowMs = 10_000;
    mock.timers.enable({ apis: ['setTimeout'] });
    mock.method(performance, 'now', () => nowMs);
  });

  afterEach(() => {
    mock.timers.reset();
    mock.restoreAll();
  });

  /** Lets time pass, and then all that became due. */
  async function pass(ms: number): Promise<void> {
    nowMs += ms;
    mock.timers.tick(ms);
    for (let n = 0; n < 3; n++) await turn();
  }

  /** Creates a limiter on a cluster. The shard of a key is its first letter. */
  function openCluster() {
    const dead = new Set<string>();
    const keys = new Map<string, string>();
    const nameOf = (key: string) => `store-orders:2:${hash('sha256', key, 'base64url')}`;
    const calls: string[] = [];
    const modes: string[] = [];
    const limiter = createRedisLimiter({
      onMode: (mode: LimiterMode, error) => modes.push(error === undefined ? mode : `${mode}: ${error}`),
      async send(command, name) {
        const key = keys.get(name) ?? '';
        calls.push(command.at(-1) === 'probe' ? `probe ${key}` : key);
        if (dead.has(key.charAt(0))) await new Promise<void>(() => {});
        return [SERVER_MS, -1, 1, 1_000];
      },
    });
    /** Returns who decided on a request: the server, this process, or this process after the deadline. */
    async function ask(key: string): Promise<'shared' | 'alone' | 'late'> {
      keys.set(nameOf(key), key);
      const decision = limiter.take(key, PLAN);
      if (!(decision instanceof Promise)) return 'alone';
      await turn();
      if (dead.has(key.charAt(0))) await pass(DEADLINE_MS);
      return (await decision).nowMs === SERVER_MS ? 'shared' : 'late';
    }
    return { limiter, modes, dead, calls, ask };
  }

  test('if one shard of a cluster is dead, its keys wait three times at most and are decided here, and the others by the server', async () => {
    const { limiter, modes, dead, calls, ask } = openCluster();
    dead.add('b');
    const asked: string[] = [];
    for (const key of ['b1', 'a1', 'b1', 'a1', 'b1', 'a1', 'b1', 'b2', 'a2', 'b2']) asked.push(await ask(key));
    const healthy = 'shared';
    assert.deepEqual(asked, ['late', healthy, 'late', healthy, 'late', healthy, 'alone', 'late', healthy, 'alone']);
    assert.deepEqual([limiter.mode, modes], ['local', [`local: Error: no reply within ${DEADLINE_MS} ms`]]);

    await pass(1_000);
    calls.length = 0;
    for (let n = 0; n < 5; n++)
      assert.deepEqual([await ask('b1'), await ask('b2'), await ask('a1')], ['alone', 'alone', 'shared']);
    await pass(DEADLINE_MS);
    assert.deepEqual(
      calls.filter((call) => call !== 'a1'),
      ['probe b1', 'probe b2'],
      'one probe a key and second',
    );

    dead.clear();
    await pass(1_000);
    await ask('a1');
    await pass(0);
    assert.deepEqual([await ask('b1'), await ask('b2'), limiter.mode], ['shared', 'shared', 'shared']);
    assert.equal(modes.length, 2);
  });

  test('a dead shard is noticed although none of its keys is used a second time', async () => {
    const { limiter, dead, ask } = openCluster();
    dead.add('b');
    assert.equal(await ask('b1'), 'late');
    for (let second = 0; second < 2; second++) {
      assert.deepEqual([await ask('a1'), limiter.mode], ['shared', 'shared']);
      await pass(1_000);
      await ask('a1');
      await pass(DEADLINE_MS);
    }
    assert.equal(limiter.mode, 'local');
  });

  test('three keys of a dead shard in a row stop all keys, until the next probe of a healthy one', async () => {
    const { limiter, modes, dead, ask } = openCluster();
    dead.add('b');
    for (const key of ['b1', 'b2', 'b3']) assert.equal(await ask(key), 'late');
    assert.deepEqual([await ask('a1'), await ask('b4')], ['alone', 'alone']);
    await pass(1_000);
    assert.equal(await ask('a1'), 'alone');
    await turn();
    assert.deepEqual([await ask('a1'), await ask('b1'), limiter.mode], ['shared', 'alone', 'local']);
    await pass(DEADLINE_MS);
    assert.equal(modes.length, 1);
  });
});
