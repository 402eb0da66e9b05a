import type { KeyState } from './limiter.js';
import { mattersUntilMs } from './rule.js';

/** Whose buckets newcomers to a full pool share; no address is spelled so. */
const OVERFLOW = '*';

/** Two a newcomer: the sweep goes round at least as quickly as the pool grows. */
const SWEPT_PER_NEWCOMER = 2;

/**
 * States by key, `max` of them at most. What no longer matters is swept as newcomers arrive, a few steps each, so there
 * is no timer and no pause. Nothing that matters is ever dropped: in a full pool newcomers share one place instead.
 */
export function createBucketPool(max: number) {
  const states = new Map<string, KeyState>();
  let hand = states.entries();

  function sweep(nowMs: number): void {
    for (let step = 0; step < SWEPT_PER_NEWCOMER; step++) {
      const { value, done } = hand.next();
      if (done) {
        hand = states.entries();
        return;
      }
      if (mattersUntilMs(value[1]) <= nowMs) states.delete(value[0]);
    }
  }

  return {
    /** Where the key's state belongs: at the key, or at the shared place when the pool is full of others. */
    place(key: string, nowMs: number): string {
      if (states.has(key)) return key;
      sweep(nowMs);
      return states.size < max ? key : OVERFLOW;
    },

    get: (place: string): KeyState | undefined => states.get(place),

    set(place: string, state: KeyState | undefined): void {
      if (state === undefined) states.delete(place);
      else states.set(place, state);
    },
  };
}
