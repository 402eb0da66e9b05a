import type { QuotaPolicy } from './plan.js';

/**
 * The stored state of one token bucket. A full bucket has no record.
 *
 * | refill       | `taken`                                          | `atMs`                           |
 * |--------------|--------------------------------------------------|----------------------------------|
 * | `interval`   | tokens taken in this window                      | the instant the window ends      |
 * | `continuous` | the deficit in token·ms; one token = `windowMs`  | the instant of this deficit      |
 *
 * All numbers are integers below 2^53, so nothing is ever rounded.
 */
export interface Bucket {
  readonly taken: number;
  readonly atMs: number;
}

/** A time of the limiter's clock, and the offset to add to it for Unix time. */
export interface Instant {
  readonly nowMs: number;
  readonly utcOffsetMs: number;
}

/**
 * Returns the bucket with the tokens that have come back by now. If the clock has stepped back, the
 * window's end is moved to at most one window from now.
 */
export function settle(bucket: Bucket | undefined, policy: QuotaPolicy, instant: Instant): Bucket {
  const { nowMs } = instant;
  const { windowMs } = policy;
  if (policy.refill === 'continuous') {
    if (bucket === undefined) return { taken: 0, atMs: nowMs };
    // After a change to a smaller plan, the deficit may exceed the new quota. It is reduced to the
    // new quota, so that one window refills the bucket.
    const deficit = Math.min(bucket.taken, policy.quota * windowMs);
    const elapsedMs = Math.max(0, nowMs - bucket.atMs);
    return { taken: Math.max(0, deficit - elapsedMs * policy.quota), atMs: nowMs };
  }
  if (bucket === undefined || bucket.taken === 0 || bucket.atMs <= nowMs) {
    return { taken: 0, atMs: windowEndMs(policy, instant) };
  }
  return bucket.atMs > nowMs + windowMs ? { taken: bucket.taken, atMs: nowMs + windowMs } : bucket;
}

function windowEndMs({ align, windowMs }: QuotaPolicy, { nowMs, utcOffsetMs }: Instant): number {
  if (align === 'first') return nowMs + windowMs;
  const utcMs = nowMs + utcOffsetMs;
  return nowMs + windowMs - (utcMs % windowMs);
}

// The functions below expect a bucket that `settle` has returned.

export function holds(bucket: Bucket, policy: QuotaPolicy, tokens: number): boolean {
  return bucket.taken + tokens * unit(policy) <= policy.quota * unit(policy);
}

export function withTaken(bucket: Bucket, policy: QuotaPolicy, tokens: number): Bucket {
  return { taken: bucket.taken + tokens * unit(policy), atMs: bucket.atMs };
}

/** Returns how many whole tokens are left, or 0 if more were taken under a larger plan. */
export function remaining(bucket: Bucket, policy: QuotaPolicy): number {
  return Math.max(0, Math.floor((policy.quota * unit(policy) - bucket.taken) / unit(policy)));
}

/** Returns the instant when the bucket is full again. */
export function resetAtMs(bucket: Bucket, policy: QuotaPolicy): number {
  return policy.refill === 'interval' ? bucket.atMs : bucket.atMs + Math.ceil(bucket.taken / policy.quota);
}

/**
 * Returns the first instant when more than {@link remaining} tokens can be taken. For a full bucket
 * with continuous refill, returns when one token would be back if it were taken now.
 */
export function refillAtMs(bucket: Bucket, policy: QuotaPolicy): number {
  if (policy.refill === 'interval') return bucket.atMs;
  const deficit = bucket.taken === 0 ? policy.windowMs : bucket.taken % policy.windowMs || policy.windowMs;
  return bucket.atMs + Math.ceil(deficit / policy.quota);
}

/** Returns the first instant when a bucket that does not hold `tokens` now will hold them. */
export function holdsAtMs(bucket: Bucket, policy: QuotaPolicy, tokens: number): number {
  if (policy.refill === 'interval') return bucket.atMs;
  const missing = bucket.taken + (tokens - policy.quota) * policy.windowMs;
  return bucket.atMs + Math.ceil(missing / policy.quota);
}

/** Returns how much one token adds to `taken`. */
function unit(policy: QuotaPolicy): number {
  return policy.refill === 'interval' ? 1 : policy.windowMs;
}
