import type { TestContext } from 'node:test';

/**
 * How many times a test kills a process, or repeats its random acts. With the default, such a test
 * takes less than a minute. For a long run, set STORE_ORDERS_ROUNDS=200.
 */
export const ROUNDS = wholeNumberOf('STORE_ORDERS_ROUNDS') ?? 25;

/** Whether this is a long run. */
export const IS_FULL = ROUNDS >= 200;

/**
 * Creates a random number generator from a seed that the test prints, so that the same random
 * numbers can be used again.
 */
export function seededRandom(t: TestContext): () => number {
  const seed = wholeNumberOf('STORE_ORDERS_SEED') ?? Date.now() % 2 ** 32;
  t.diagnostic(`STORE_ORDERS_SEED=${seed}`);
  return randomFrom(seed);
}

/**
 * Creates a Mulberry32 generator. It returns numbers in [0, 1), and the same numbers for the same
 * seed.
 */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Returns some of the numbers from 1 to `last`, at equal distances from a random first one. Returns
 * all of them if {@link ROUNDS} is 200.
 */
export function someOf(t: TestContext, last: number): number[] {
  const distance = Math.max(1, Math.floor(200 / ROUNDS));
  const first = 1 + Math.floor(seededRandom(t)() * Math.min(distance, last));
  return Array.from({ length: Math.ceil((last - first + 1) / distance) }, (_, index) => first + index * distance);
}

function wholeNumberOf(variable: string): number | undefined {
  const text = process.env[variable];
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new RangeError(`${variable}: expected a whole number from 1 up, not ${text}`);
  return Number(text);
}
