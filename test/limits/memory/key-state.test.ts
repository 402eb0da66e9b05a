import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, PLANS } from 'store-orders/limiter';
import { createManualClock } from 'store-orders/testing';

test('inspect returns Unix times, and another limiter restores them by its own clock', () => {
  const before = { ...createManualClock(1_000), utcOffsetMs: () => 500_000 };
  const limiter = createMemoryLimiter({ clock: before });
  limiter.take('key', PLANS.free);
  limiter.ban('key', 60_000);
  const state = limiter.inspect('key') ?? assert.fail();
  assert.deepEqual([state.buckets[0]?.atMs, state.ban?.banEndMs], [561_000, 561_000]);
  assert.equal(limiter.inspect('other'), undefined);

  const after = createMemoryLimiter({ clock: { ...createManualClock(9_000_000), utcOffsetMs: () => -8_498_000 } });
  after.restore('key', JSON.parse(JSON.stringify(state)));
  const { result, retryAfterMs } = after.take('key', PLANS.free);
  assert.deepEqual([result, retryAfterMs], ['banned', 59_000]);
  assert.deepEqual(after.inspect('key'), state);
});

test('restore refuses a state that cannot be one, and says what is wrong', () => {
  const limiter = createMemoryLimiter();
  const bucket = { name: 'minute', windowMs: 60_000, refill: 'interval', taken: 1, atMs: 1 };
  const ban = { refusedAtMs: 0, forgiven: 0, strikesAtMs: [1], banEndMs: 0, banMs: 0, level: 0, forgetAtMs: 0 };
  limiter.restore('key', JSON.parse(JSON.stringify({ buckets: [bucket], ban, later: 'a field of a later version' })));
  const rows: readonly (readonly [message: string, state: unknown])[] = [
    ['state: expected an object with buckets', null],
    ['state.buckets: missing', {}],
    ['state.buckets: expected an array', { buckets: {} }],
    ['state.buckets[0].name: expected a string', { buckets: [{ ...bucket, name: 1 }] }],
    ['state.buckets[0].refill: expected interval or continuous', { buckets: [{ ...bucket, refill: 'daily' }] }],
    ['state.buckets[1].taken: expected', { buckets: [bucket, { ...bucket, taken: -1 }] }],
    ['state.buckets[0].windowMs: expected', { buckets: [{ ...bucket, windowMs: 0.5 }] }],
    ['state.buckets[0].atMs: expected', { buckets: [{ ...bucket, atMs: 'now' }] }],
    ['state.ban.level: missing', { buckets: [], ban: { ...ban, level: undefined } }],
    ['state.ban.banMs: expected', { buckets: [], ban: { ...ban, banMs: Number.NaN } }],
    ['state.ban.strikesAtMs: expected', { buckets: [], ban: { ...ban, strikesAtMs: [null] } }],
  ];
  for (const [message, state] of rows) {
    assert.throws(
      () => limiter.restore('key', JSON.parse(JSON.stringify(state) ?? 'null')),
      (error) => error instanceof Error && error.message.startsWith(message),
      message,
    );
  }
});
