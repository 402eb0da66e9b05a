import type { QuotaPolicy } from './plan.js';

/**
 * One token bucket at rest. A full one has nothing to remember: `taken` 0 is the same as no record.
 *
 * | refill       | `taken`                                        | `atMs`                           |
 * |--------------|------------------------------------------------|----------------------------------|
 * | `interval`   | tokens taken in this window                    | the instant the window ends      |
 * | `continuous` | the deficit in token·ms, a token is `windowMs` | the instant the deficit is as of |
 *
 * All of it integers below 2^53, so nothing is ever rounded.
 */
export interface Bucket {
  readonly taken: number;
  readonly atMs: number;
}

/** An instant: the limiter's clock, and what makes it Unix time. */
export interface Instant {
  readonly nowMs: number;
  readonly utcOffsetMs: number;
}

/**
 * The bucket as of now: what has come back by now is back. Never further than one window from now, should the clock
 * have stepped back.
 */
export function settle(bucket: Bucket | undefined, policy: QuotaPolicy, instant: Instant): Bucket {
  const { nowMs } = instant;
  const { windowMs } = policy;
  if (policy.refill === 'continuous') {
    if (bucket === undefined) return { taken: 0, atMs: nowMs };
    // Under a plan that has become smaller a bucket is empty at most, so that a window refills it whatever was taken.
    const deficit = Math.min(bucket.taken, policy.quota * windowMs);
    const elapsedMs = Math.min(Math.max(0, nowMs - bucket.atMs), windowMs);
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

// What follows is asked of a settled bucket.

export function holds(bucket: Bucket, policy: QuotaPolicy, tokens: number): boolean {
  return bucket.taken + tokens * unit(policy) <= policy.quota * unit(policy);
}

/** With `tokens` fewer, or with as many put back if negative: too many leave it more than full. */
export function withTaken(bucket: Bucket, policy: QuotaPolicy, tokens: number): Bucket {
  return { taken: bucket.taken + tokens * unit(policy), atMs: bucket.atMs };
}

/** Whole tokens left. A plan may have become smaller than what was taken before: 0 then. */
export function remaining(bucket: Bucket, policy: QuotaPolicy): number {
  return Math.max(0, Math.floor((policy.quota * unit(policy) - bucket.taken) / unit(policy)));
}

/** The instant at which the bucket is full again. */
export function resetAtMs(bucket: Bucket, policy: QuotaPolicy): number {
  return policy.refill === 'interval' ? bucket.atMs : bucket.atMs + Math.ceil(bucket.taken / policy.quota);
}

/** The first instant at which more can be taken than {@link remaining}: for a full bucket, one refill after now. */
export function refillAtMs(bucket: Bucket, policy: QuotaPolicy): number {
  if (policy.refill === 'interval') return bucket.atMs;
  const deficit = bucket.taken === 0 ? policy.windowMs : bucket.taken % policy.windowMs || policy.windowMs;
  return bucket.atMs + Math.ceil(deficit / policy.quota);
}

/** The first instant at which it {@link holds} `tokens`, which it does not now. */
export function holdsAtMs(bucket: Bucket, policy: QuotaPolicy, tokens: number): number {
  if (policy.refill === 'interval') return bucket.atMs;
  const missing = bucket.taken + (tokens - policy.quota) * policy.windowMs;
  return bucket.atMs + Math.ceil(missing / policy.quota);
}

/** What one token counts in `taken`. */
function unit(policy: QuotaPolicy): number {
  return policy.refill === 'interval' ? 1 : policy.windowMs;
}
