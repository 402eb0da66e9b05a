import type { Decision, Plan } from '../limits/index.js';
import { isCreated } from '../limits/plan.js';

/** Converts milliseconds to whole seconds, rounded up so that a wait is long enough. */
function seconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}

/**
 * Creates a function that returns the header fields of a decision, as alternating names and values.
 * The `X-RateLimit-*` fields describe the window that will refuse first (specification, part 8). If
 * `draft` is true, adds the fields of the IETF RateLimit draft, which describe every window.
 */
export function createLimitFields(draft: boolean): (decision: Decision) => readonly string[] {
  const policyFields = new WeakMap<Plan, string>();

  function policyFieldOf(plan: Plan): string {
    let text = policyFields.get(plan);
    if (text === undefined) {
      text = policyField(plan);
      if (isCreated(plan)) policyFields.set(plan, text);
    }
    return text;
  }

  return (decision) => {
    const { policy, remaining, resetAtMs } = decision.inForce;
    const unixMs = resetAtMs + decision.utcOffsetMs;
    if (!draft) return xRateLimitFields(policy.quota, remaining, unixMs);
    // The fields are one array literal. An array that grows, or is copied, takes five times as long
    // as a literal.
    return [
      'X-RateLimit-Limit',
      `${policy.quota}`,
      'X-RateLimit-Remaining',
      `${remaining}`,
      'X-RateLimit-Reset',
      `${seconds(unixMs)}`,
      'RateLimit-Policy',
      policyFieldOf(decision.plan),
      'RateLimit',
      rateLimitField(decision),
    ];
  };
}

/**
 * Returns the rate-limit fields of a reply for which the limiter made no decision. They announce
 * that no requests remain until `resetAtMs`, in Unix time. `plan` can be invalid, because an
 * invalid plan is one of the reasons why a limiter makes no decision.
 */
export function unavailableFields(plan: Partial<Plan> | null, resetAtMs: number): string[] {
  return xRateLimitFields(Number(plan?.policies?.[0]?.quota) || 0, 0, resetAtMs);
}

function xRateLimitFields(limit: number, remaining: number, resetAtMs: number): string[] {
  return [
    'X-RateLimit-Limit',
    `${limit}`,
    'X-RateLimit-Remaining',
    `${remaining}`,
    'X-RateLimit-Reset',
    `${seconds(resetAtMs)}`,
  ];
}

/**
 * Returns `Retry-After` in seconds (RFC 9110 §10.2.3). Never 0, because a client would then retry
 * immediately.
 */
export function retryAfter(ms: number): string {
  return `${Math.max(1, seconds(ms))}`;
}

/**
 * Returns the value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11), an RFC 9651
 * list: `"minute";q=60;w=60, "day";q=1000;w=86400`.
 */
function policyField({ policies }: Plan): string {
  return policies.map(({ name, quota, windowMs }) => `"${name}";q=${quota};w=${seconds(windowMs)}`).join(', ');
}

/**
 * Returns the value of `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11, §4.1):
 * `"minute";r=59;t=60, "day";r=999;t=86400`. At most `r` requests pass in the next `t` seconds.
 * `Retry-After` is never shorter than the `t` of a window that refuses the request (§6): `t` ends
 * when the window has one more token, and `Retry-After` ends when every window has enough tokens
 * for the request.
 */
function rateLimitField({ windows, nowMs }: Decision): string {
  let text = '';
  let start = '"';
  for (const { policy, remaining, refillAtMs } of windows) {
    text += `${start}${policy.name}";r=${remaining};t=${seconds(refillAtMs - nowMs)}`;
    start = ', "';
  }
  return text;
}
