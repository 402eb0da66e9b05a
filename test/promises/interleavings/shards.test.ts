import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { createPlan, perDay } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { ROUNDS } from '../../support/rounds.js';

// Random orders of requests, replies, deadlines and outages, on a played cluster.

const DEADLINE_MS = 250;
const QUOTA = 1_000;
const PLAN = createPlan({ name: 'daily', policies: [perDay(QUOTA)], ban: false });
const SERVER_MS = 1_700_000_000_000;
const KEYS = ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'];

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ act: fc.constant('take'), key: fc.constantFrom(...KEYS) }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('reply'), count: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('pass'), ms: fc.constantFrom(20, DEADLINE_MS, 1_000) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constantFrom('stop', 'heal'), shard: fc.constantFrom('a', 'b') }) },
);

/** A call to the played cluster, also a probe. */
interface Call {
  readonly key: string;
  readonly sentMs: number;
  /** How many tokens of the key the server had given when it received the call, with this one. */
  readonly taken: number;
  isOver: boolean;
}

/** What is known of the calls whose end the limiter has noticed. */
class Observed {
  readonly #calls: Call[] = [];
  /** The number of failures of a key since its last reply, not counting calls that were in flight together. */
  readonly failures = new Map<string, { count: number; sent: number }>();
  /** The keys that have failed since the last reply about any key. */
  readonly silent = new Set<string>();

  add(call: Call): void {
    this.#calls.push(call);
  }

  reply(call: Call): void {
    if (call.isOver) return;
    call.isOver = true;
    this.failures.delete(call.key);
    this.silent.clear();
  }

  /** Ends the calls whose deadline has passed. */
  expire(nowMs: number): void {
    for (const [index, call] of this.#calls.entries()) {
      if (call.isOver || call.sentMs + DEADLINE_MS > nowMs) continue;
      call.isOver = true;
      const { count, sent } = this.failures.get(call.key) ?? { count: 0, sent: 0 };
      if (index >= sent) this.failures.set(call.key, { count: count + 1, sent: this.#calls.length });
      this.silent.add(call.key);
    }
  }
}

test('in any order of requests, replies, deadlines and outages of shards, only keys without replies are decided alone, at once and visibly', async (t) => {
  t.after(() => {
    mock.timers.reset();
    mock.restoreAll();
  });
  let nowMs = 0;
  mock.method(performance, 'now', () => nowMs);
  const property = fc.asyncProperty(
    fc.scheduler(),
    fc.array(step, { maxLength: 60, size: 'max' }),
    async (s, steps) => {
      mock.timers.reset();
      mock.timers.enable({ apis: ['setTimeout'] });
      const stopped = new Set<string>();
      const given = new Map<string, number>();
      const observed = new Observed();
      const names = new Map(KEYS.map((key) => [`store-orders:2:${hash('sha256', key, 'base64url')}`, key]));
      let lastCall: Call | undefined;
      const limiter = createRedisLimiter({
        refusalCacheMs: 0,
        async send(command, name) {
          const key = names.get(name) ?? assert.fail();
          const isProbe = command.at(-1) === 'probe';
          const isStopped = stopped.has(key.charAt(0));
          if (!isProbe && !isStopped) given.set(key, (given.get(key) ?? 0) + 1);
          const call = { key, sentMs: nowMs, taken: given.get(key) ?? 0, isOver: false };
          if (!isProbe) lastCall = call;
          observed.add(call);
          if (isStopped) await new Promise<void>(() => {});
          await s.schedule(Promise.resolve(), `reply ${key}`);
          observed.reply(call);
          return isProbe ? [SERVER_MS, -1] : [SERVER_MS, -1, call.taken, 1_000];
        },
      });
      let waiting = 0;

      async function settle(): Promise<void> {
        for (let n = 0; n < 3; n++) await turn();
      }

      async function pass(ms: number): Promise<void> {
        nowMs += ms;
        observed.expire(nowMs);
        mock.timers.tick(ms);
        await settle();
      }

      function take(key: string): void {
        const isKnownOutage = limiter.mode === 'local';
        const failures = observed.failures.get(key)?.count ?? 0;
        const decision = limiter.take(key, PLAN);
        const call = lastCall;
        if (!(decision instanceof Promise)) {
          assert.ok(isKnownOutage, 'the mode says that keys are decided alone');
          assert.ok(failures > 0 || observed.silent.size >= 3, `${key} is decided alone although it has replies`);
          return;
        }
        assert.ok(!isKnownOutage || failures === 0, `${key} waits although it has failed during this outage`);
        waiting++;
        decision.then(({ nowMs, inForce }) => {
          waiting--;
          if (nowMs === SERVER_MS)
            assert.equal(inForce.remaining, QUOTA - (call?.taken ?? 0), 'the reply to this call');
        });
      }

      for (const one of steps) {
        if ('key' in one) take(one.key);
        else if ('count' in one) await s.waitNext(Math.min(one.count, s.count()));
        else if ('ms' in one) await pass(one.ms);
        else if (one.act === 'stop') stopped.add(one.shard);
        else stopped.delete(one.shard);
        await settle();
        const worst = Math.max(0, ...[...observed.failures.values()].map(({ count }) => count));
        if (worst >= 3) assert.equal(limiter.mode, 'local', 'three failures of a key are reported');
        await settle();
      }

      stopped.clear();
      await pass(DEADLINE_MS);
      assert.equal(waiting, 0, 'each request is decided by its deadline');
      for (let second = 0; second < 3; second++) {
        await pass(1_000);
        void limiter.mode;
        while (s.count() > 0) {
          await s.waitNext(1);
          await settle();
        }
      }
      assert.equal(limiter.mode, 'shared', 'all is shared when all shards reply again');
    },
  );
  await fc.assert(property, { numRuns: 2 * ROUNDS });
});
