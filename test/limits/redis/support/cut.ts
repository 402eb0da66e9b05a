import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { RedisLimiter, SendCommand } from 'store-orders/redis';

/** A connection to the server. A test can cut the connection and restore it. */
export interface Cut {
  readonly send: SendCommand;
  isCut: boolean;
  /**
   * Restores the connection. Resolves when the limiter counts in Redis again, and has reported to
   * Redis the requests that it allowed during the outage.
   */
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
  const now = mock.method(performance, 'now', () => real() + aheadMs);
  const cut: Cut = {
    isCut: false,
    send: (command, key) => (cut.isCut ? Promise.reject(new Error('cut')) : send(command, key)),
    async join(limiter) {
      cut.isCut = false;
      aheadMs += 1_001;
      for (let turns = 0; limiter.mode !== 'shared'; turns++) {
        assert.ok(turns < 100_000, 'the limiter does not use Redis again after the outage');
        await setImmediate();
      }
      await limiter.inspect('a call sent after the charges');
    },
    stop: () => now.mock.restore(),
  };
  return cut;
}
