import { RateLimiterMemory, type RateLimiterRes, RateLimiterUnion } from 'rate-limiter-flexible';
import { PER_DAY, PER_MINUTE } from './usual-parts.js';

// Combines two windows as the documentation of rate-limiter-flexible shows. It charges one window
// even if the other refuses.
const minute = new RateLimiterMemory({ keyPrefix: 'minute', points: PER_MINUTE, duration: 60 });
const day = new RateLimiterMemory({ keyPrefix: 'day', points: PER_DAY, duration: 86_400 });
const union = new RateLimiterUnion(minute, day);

/** Returns what is left of the minute quota, or `undefined` if a quota is exceeded. */
export async function consume(keyId: string): Promise<RateLimiterRes | undefined> {
  try {
    const taken = await union.consume(keyId);
    return taken['minute'];
  } catch (refused) {
    if (refused instanceof Error) throw refused;
    return undefined;
  }
}

export function limitFields(taken: RateLimiterRes) {
  return {
    'X-RateLimit-Limit': `${PER_MINUTE}`,
    'X-RateLimit-Remaining': `${taken.remainingPoints}`,
    'X-RateLimit-Reset': `${Math.ceil((Date.now() + taken.msBeforeNext) / 1000)}`,
  };
}
