import { createRequire } from 'node:module';
import { MemoryStore as ExpressStore, rateLimit } from 'express-rate-limit';
import { MemoryStore as HonoStore, rateLimiter } from 'hono-rate-limiter';
import { RateLimiter } from 'limiter';
import { RateLimiterMemory, RateLimiterUnion } from 'rate-limiter-flexible';
import { DAY_MS, MINUTE_MS, PER_DAY, PER_MINUTE } from '../servers/plenty.js';
import { bound, ours, type Take } from './limiter.js';

export type AsyncTake = (key: string) => Promise<boolean>;

export interface Subject {
  readonly name: string;
  /** True if a request that one window refuses leaves the count of the other window unchanged. */
  readonly isAtomic: boolean;
  create(keyCount: number): Take | AsyncTake;
}

/**
 * The limiters to compare. Each uses its own in-memory store and no middleware. A limiter that
 * supports only one window is called twice.
 */
export const SUBJECTS: readonly Subject[] = [
  { name: 'hand-written limiter', isAtomic: true, create: bound },
  { name: 'store-orders', isAtomic: true, create: ours },
  { name: 'hono-rate-limiter, two stores', isAtomic: false, create: createHono },
  { name: '@fastify/rate-limit, two stores', isAtomic: false, create: createFastify },
  { name: 'express-rate-limit, two stores', isAtomic: false, create: createExpress },
  { name: 'limiter, two instances per key', isAtomic: false, create: createLimiter },
  { name: 'rate-limiter-flexible, two', isAtomic: false, create: createFlexible },
  { name: 'rate-limiter-flexible, union', isAtomic: false, create: createUnion },
];

function createHono(): Take {
  const stores = [MINUTE_MS, DAY_MS].map((windowMs) => {
    const store = new HonoStore();
    // `rateLimiter` also initialises the store.
    rateLimiter({ windowMs, limit: PER_MINUTE, keyGenerator: () => '', store });
    return store;
  });
  const [minute, day] = both(stores);
  return (key) => minute.increment(key).totalHits <= PER_MINUTE && day.increment(key).totalHits <= PER_DAY;
}

function createExpress(): AsyncTake {
  const stores = [MINUTE_MS, DAY_MS].map((windowMs) => {
    const store = new ExpressStore();
    rateLimit({ windowMs, limit: PER_MINUTE, store });
    return store;
  });
  const [minute, day] = both(stores);
  return async (key) =>
    (await minute.increment(key)).totalHits <= PER_MINUTE && (await day.increment(key)).totalHits <= PER_DAY;
}

interface FastifyStore {
  incr(
    key: string,
    done: (error: unknown, taken: { readonly current: number }) => void,
    windowMs: number,
    max: number,
  ): void;
}

/**
 * Creates the store of @fastify/rate-limit with room for all keys. By default, this store forgets
 * all but the last 5,000 keys, and gives forgotten keys a fresh quota.
 */
function createFastify(keyCount: number): Take {
  const LocalStore: new (continueExceeding: boolean, exponentialBackoff: boolean, cache: number) => FastifyStore =
    createRequire(import.meta.url)('@fastify/rate-limit/store/LocalStore.js');
  const minute = new LocalStore(false, false, keyCount);
  const day = new LocalStore(false, false, keyCount);
  return (key) => {
    let isAllowed = true;
    minute.incr(key, (_, { current }) => (isAllowed &&= current <= PER_MINUTE), MINUTE_MS, PER_MINUTE);
    day.incr(key, (_, { current }) => (isAllowed &&= current <= PER_DAY), DAY_MS, PER_DAY);
    return isAllowed;
  };
}

/**
 * Uses the package `limiter`. Its `RateLimiter` has only one limit, so a Map holds two of them for
 * each key.
 */
function createLimiter(): Take {
  const limiters = new Map<string, readonly [RateLimiter, RateLimiter]>();
  return (key) => {
    let found = limiters.get(key);
    if (found === undefined) {
      found = [
        new RateLimiter({ tokensPerInterval: PER_MINUTE, interval: 'minute' }),
        new RateLimiter({ tokensPerInterval: PER_DAY, interval: 'day' }),
      ];
      limiters.set(key, found);
    }
    return found[0].tryRemoveTokens(1) && found[1].tryRemoveTokens(1);
  };
}

function flexibles() {
  return [
    new RateLimiterMemory({ keyPrefix: 'minute', points: PER_MINUTE, duration: MINUTE_MS / 1_000 }),
    new RateLimiterMemory({ keyPrefix: 'day', points: PER_DAY, duration: DAY_MS / 1_000 }),
  ] as const;
}

function createFlexible(): AsyncTake {
  const [minute, day] = flexibles();
  return async (key) => {
    await minute.consume(key);
    await day.consume(key);
    return true;
  };
}

function createUnion(): AsyncTake {
  const union = new RateLimiterUnion(...flexibles());
  return async (key) => {
    await union.consume(key);
    return true;
  };
}

function both<T>([first, second]: readonly T[]): readonly [T, T] {
  if (first === undefined || second === undefined) throw new TypeError('expected two');
  return [first, second];
}
