import { checkOneOf, checkPresent, checkWholeNumber } from '../../check.js';
import type { KeyState } from '../limiter.js';

/**
 * Adds `ms` to the times in a state, to convert between a limiter's clock and Unix time. In a ban, a
 * time of 0 means "never" and stays 0.
 */
export function shiftTimes({ buckets, ban }: KeyState, ms: number): KeyState {
  const shift = (instantMs: number) => (instantMs === 0 ? 0 : instantMs + ms);
  return {
    buckets: buckets.map((bucket) => ({ ...bucket, atMs: bucket.atMs + ms })),
    ...(ban && {
      ban: {
        ...ban,
        refusedAtMs: shift(ban.refusedAtMs),
        strikesAtMs: ban.strikesAtMs.map(shift),
        banEndMs: shift(ban.banEndMs),
        forgetAtMs: shift(ban.forgetAtMs),
      },
    }),
  };
}

const BAN_NUMBERS = ['refusedAtMs', 'forgiven', 'banEndMs', 'banMs', 'level', 'forgetAtMs'] as const;

/** Throws a TypeError or RangeError that names what is wrong in a state that was stored elsewhere. */
export function checkKeyState(state: KeyState): void {
  checkPresent('state', state, ['buckets']);
  checkArray('state.buckets', state.buckets);
  for (const [index, bucket] of state.buckets.entries()) {
    const where = `state.buckets[${index}]`;
    checkPresent(where, bucket, ['name', 'refill', 'windowMs', 'taken', 'atMs']);
    if (typeof bucket.name !== 'string') throw new TypeError(`${where}.name: expected a string`);
    checkOneOf(`${where}.refill`, bucket.refill, ['interval', 'continuous']);
    checkWholeNumber(`${where}.windowMs`, bucket.windowMs, 1);
    checkWholeNumber(`${where}.taken`, bucket.taken, 0, Number.MAX_SAFE_INTEGER);
    checkWholeNumber(`${where}.atMs`, bucket.atMs, 0);
  }
  const { ban } = state;
  if (ban === undefined) return;
  checkPresent('state.ban', ban, ['strikesAtMs', ...BAN_NUMBERS]);
  for (const name of BAN_NUMBERS) checkWholeNumber(`state.ban.${name}`, ban[name], 0);
  checkArray('state.ban.strikesAtMs', ban.strikesAtMs);
  for (const atMs of ban.strikesAtMs) checkWholeNumber('state.ban.strikesAtMs', atMs, 0);
}

function checkArray(where: string, value: unknown): void {
  if (!Array.isArray(value)) throw new TypeError(`${where}: expected an array`);
}
