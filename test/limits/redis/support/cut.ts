import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Plan } from 'store-orders/limiter';
import type { RedisLimiter, SendCommand } from 'store-orders/redis';

/** A connection to the server. A test can cut the connection and restore it. */
export interface Cut {
  readonly send: SendCommand;
  readonly isCut: boolean;
  /** Cuts the connection. Resolves when the limiter has noticed. */
  cutOff(limiter: RedisLimiter, plan: Plan): Promise<void>;
  /** Restores the connection. Resolves when the limiter counts in Redis again. */
  join(limiter: RedisLimiter): Promise<void>;
  stop(): void;
}

/**
 * Creates a connection that can be cut. `join` advances `performance.now()` to the time when the
 * limiter tries the server again, so that no test has to wait until then.
 */
export function cuttable(send: SendCommand): Cut {
  const real = performance.now.bind(performance);
  let aheadMs = 0;
  let isCut = false;
  const now = mock.method(performance, 'now', () => real() + aheadMs);
  return {
    send: (command, key) => (isCut ? Promise.reject(new Error('cut')) : send(command, key)),
    get isCut() {
      return isCut;
    },
    async cutOff(limiter, plan) {
      isCut = true;
      // A failure counts only if its call was sent after the failure before was noticed.
      for (let failures = 0; failures < 3; failures++) await limiter.take('somebody else', plan);
      assert.equal(limiter.mode, 'local');
    },
    async join(limiter) {
      isCut = false;
      aheadMs += 1_001;
      for (let turns = 0; limiter.mode !== 'shared'; turns++) {
        assert.ok(turns < 100_000, 'the limiter does not use Redis again after the outage');
        await setImmediate();
      }
    },
    stop: () => now.mock.restore(),
  };
}
