import { createMemoryLimiter, type Decision } from 'store-orders/limiter';
import { DAY_MS, MINUTE_MS, PER_DAY, PER_MINUTE, PLENTY } from '../servers/plenty.js';

/**
 * Takes one token from the minute window and one from the day window. Returns `false` if one of the
 * windows refuses.
 */
export type Take = (key: string) => boolean;

/** Stores a decision, so that V8 cannot optimise its creation away. */
const kept: { decision?: Decision } = {};

export function ours(): Take {
  const limiter = createMemoryLimiter();
  return (key) => {
    kept.decision = limiter.take(key, PLENTY);
    return kept.decision.allowed;
  };
}

/**
 * Creates the limiter that all others are compared with (the floor). It is written by hand for one
 * plan, and does only the necessary work. Each call takes one Map look-up and one clock reading.
 * The two windows of a key take 24 bytes. This limiter supports no cost, no ban and no other plan.
 * It never frees a key, and it returns only whether the request is allowed.
 */
export function bound(): Take {
  const { performance } = globalThis;
  const { timeOrigin } = performance;
  const slots = new Map<string, number>();
  let ends = new Float64Array(3 * 1_024);
  let taken = new Int32Array(ends.buffer);
  return (key) => {
    const now = Math.floor(timeOrigin + performance.now());
    let slot = slots.get(key);
    if (slot === undefined) {
      slot = slots.size;
      slots.set(key, slot);
      if (slot * 3 === ends.length) {
        const larger = new Float64Array(ends.length * 2);
        larger.set(ends);
        ends = larger;
        taken = new Int32Array(ends.buffer);
      }
    }
    const end = slot * 3;
    const count = slot * 6 + 4;
    const minuteOver = (ends[end] ?? 0) <= now;
    const dayOver = (ends[end + 1] ?? 0) <= now;
    const minute = (minuteOver ? 0 : (taken[count] ?? 0)) + 1;
    const day = (dayOver ? 0 : (taken[count + 1] ?? 0)) + 1;
    if (minute > PER_MINUTE || day > PER_DAY) return false;
    taken[count] = minute;
    taken[count + 1] = day;
    if (minuteOver) ends[end] = now + MINUTE_MS;
    if (dayOver) ends[end + 1] = now + DAY_MS;
    return true;
  };
}

/** Shuffles the keys in place. Every run results in the same order. */
export function shuffled(keys: string[]): string[] {
  let seed = 42;
  for (let i = keys.length - 1; i > 0; i--) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    const j = seed % (i + 1);
    [keys[i], keys[j]] = [keys[j] ?? '', keys[i] ?? ''];
  }
  return keys;
}
