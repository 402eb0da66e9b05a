import type { Decision, Plan } from '../limits/index.js';

/** Converts milliseconds to whole seconds, rounded up so that a wait is long enough. */
function seconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}

/**
 * Returns the header fields of a decision, as alternating names and values. The `X-RateLimit-*`
 * fields describe the window that will refuse first (specification, part 8). `resetAtMs` replaces its
 * reset if something else decides when a request passes. With `draft`, two more fields describe every
 * window (draft-ietf-httpapi-ratelimit-headers-11), as lists of RFC 9651:
 *
 * - `RateLimit-Policy: "minute";q=60;w=60, "day";q=1000;w=86400`
 * - `RateLimit: "minute";r=59;t=60, "day";r=999;t=86400`. At most `r` requests pass in the next `t`
 *   seconds. Then the window has more tokens. `Retry-After` lasts until every window has enough, so
 *   it is never shorter than the `t` of a window that refuses the request (§6).
 */
export function limitFieldsOf(
  decision: Decision,
  draft: boolean,
  resetAtMs = decision.inForce.resetAtMs,
): readonly string[] {
  const { inForce, windows, nowMs, utcOffsetMs } = decision;
  const { remaining } = inForce;
  if (!draft) return xRateLimitFields(inForce.policy.quota, remaining, resetAtMs + utcOffsetMs);
  let policies = '';
  let states = '';
  let start = '"';
  for (const { policy, remaining: left, refillAtMs } of windows) {
    policies += `${start}${policy.name}";q=${policy.quota};w=${seconds(policy.windowMs)}`;
    states += `${start}${policy.name}";r=${left};t=${seconds(refillAtMs - nowMs)}`;
    start = ', "';
  }
  // This is one array literal, because an array that grows, or is copied, takes five times as long.
  return [
    'X-RateLimit-Limit',
    `${inForce.policy.quota}`,
    'X-RateLimit-Remaining',
    `${remaining}`,
    'X-RateLimit-Reset',
    `${seconds(resetAtMs + utcOffsetMs)}`,
    'RateLimit-Policy',
    policies,
    'RateLimit',
    states,
  ];
}

/**
 * Returns the rate-limit fields of a reply without a decision of the limiter. They say that no
 * requests remain, and reset when the client may try again. `plan` can be invalid, because that may
 * be why there is no decision.
 */
export function unavailableFields(plan: Plan, waitMs: number): string[] {
  return xRateLimitFields(Number(plan.policies[0]?.quota) || 0, 0, Date.now() + waitMs);
}

function xRateLimitFields(limit: number, remaining: number, resetMs: number): string[] {
  const reset = `${seconds(resetMs)}`;
  return ['X-RateLimit-Limit', `${limit}`, 'X-RateLimit-Remaining', `${remaining}`, 'X-RateLimit-Reset', reset];
}

/** Returns `Retry-After` in seconds (RFC 9110 §10.2.3). Never 0, or a client would retry at once. */
export function retryAfter(waitMs: number): string {
  return `${Math.max(1, seconds(waitMs))}`;
}
