import {
  type IRateLimiterOptions,
  RateLimiterMemory,
  type RateLimiterRes,
  RateLimiterUnion,
} from 'rate-limiter-flexible';
import { PER_DAY, PER_MINUTE } from '../plenty.js';

type Window = ConstructorParameters<typeof RateLimiterUnion>[0];

/**
 * Combines two windows as the documentation of rate-limiter-flexible shows. A request that one
 * window refuses is still counted in the other. Returns a function that resolves to the state of
 * the minute window, or to `undefined` if a quota is exceeded.
 */
export function createUnion(open: (options: IRateLimiterOptions) => Window) {
  const union = new RateLimiterUnion(
    open({ keyPrefix: 'minute', points: PER_MINUTE, duration: 60 }),
    open({ keyPrefix: 'day', points: PER_DAY, duration: 86_400 }),
  );
  return async function consume(keyId: string): Promise<RateLimiterRes | undefined> {
    try {
      const taken = await union.consume(keyId);
      return taken['minute'];
    } catch (refused) {
      if (refused instanceof Error) throw refused;
      return undefined;
    }
  };
}

export const consume = createUnion((window) => new RateLimiterMemory(window));

export function limitFields(taken: RateLimiterRes) {
  return {
    'X-RateLimit-Limit': `${PER_MINUTE}`,
    'X-RateLimit-Remaining': `${taken.remainingPoints}`,
    'X-RateLimit-Reset': `${Math.ceil((Date.now() + taken.msBeforeNext) / 1000)}`,
  };
}
