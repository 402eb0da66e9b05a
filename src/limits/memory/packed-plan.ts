import type { Plan, QuotaPolicy } from '../plan.js';

/** A packed bucket counts at most this many tokens, so that the count fits into 32 bits. */
export const MAX_PACKED_TAKEN = 2 ** 31 - 1;

/**
 * The longest window for which `BucketPool.charge` can decide without rule.ts: 24.8 days. The time
 * left in such a window fits into 32 bits.
 */
const MAX_FAST_WINDOW_MS = 2 ** 31 - 1;

/**
 * A plan in the form that the pool reads for every request. If the plan has only one window, the
 * fields of the second window describe one that never refuses.
 */
export interface PackedPlan {
  readonly plan: Plan;
  /** The number that `BucketPool.shapeOf` returns for the plan's windows. */
  readonly shape: number;
  /** The same as `shape`, or -1 if rule.ts has to decide every request under this plan. */
  readonly fastShape: number;
  readonly first: QuotaPolicy;
  readonly second: QuotaPolicy | undefined;
  readonly firstQuota: number;
  readonly firstWindowMs: number;
  readonly secondQuota: number;
  readonly secondWindowMs: number;
  /**
   * The length of a window that begins now, or `Infinity` for a calendar window (`align: 'utc'`),
   * whose end only rule.ts computes.
   */
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
