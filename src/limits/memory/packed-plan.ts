import type { Plan, QuotaPolicy } from '../plan.js';

/** What a pool can keep packed counts at most this, so that it fits into 32 bits. */
export const MAX_PACKED_TAKEN = 2 ** 31 - 1;

/** Windows of up to 24.8 days: what is left of them fits into 32 bits. */
const MAX_FAST_WINDOW_MS = 2 ** 31 - 1;

/** A plan as a pool reads it for every request. A second window that there is not never refuses. */
export interface PackedPlan {
  readonly plan: Plan;
  /** The packed form of its buckets; see `BucketPool.shapeOf`. */
  readonly shape: number;
  /** The same, or none if a request of this plan is for the rule in any case. */
  readonly fastShape: number;
  readonly first: QuotaPolicy;
  readonly second: QuotaPolicy | undefined;
  readonly firstQuota: number;
  readonly firstWindowMs: number;
  readonly secondQuota: number;
  readonly secondWindowMs: number;
  /** How long a window lasts that begins now; `Infinity` if the calendar says. */
  readonly firstFreshMs: number;
  readonly secondFreshMs: number;
}

export function packPlan(plan: Plan, shape: number): PackedPlan {
  const [first, second] = plan.policies;
  if (first === undefined) throw new TypeError('plan.policies: expected at least one quota policy');
  const isFast = shape > 0 && plan.policies.every(({ windowMs }) => windowMs <= MAX_FAST_WINDOW_MS);
  return {
    plan,
    shape,
    fastShape: isFast ? shape : -1,
    first,
    second,
    firstQuota: Math.min(first.quota, MAX_PACKED_TAKEN),
    firstWindowMs: first.windowMs,
    secondQuota: Math.min(second?.quota ?? MAX_PACKED_TAKEN, MAX_PACKED_TAKEN),
    secondWindowMs: second?.windowMs ?? 0,
    firstFreshMs: freshMs(first),
    secondFreshMs: second === undefined ? 0 : freshMs(second),
  };
}

function freshMs({ align, windowMs }: QuotaPolicy): number {
  return align === 'first' ? windowMs : Number.POSITIVE_INFINITY;
}
