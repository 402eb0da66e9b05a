import type { Decision } from 'store-orders/limiter';

/**
 * Copies a decision into a plain object. The original may compute its properties when they are
 * read.
 */
export function plainDecision(decision: Decision): Decision {
  const { key, plan, cost, allowed, verdict, nowMs, utcOffsetMs, retryAfterMs, windows, inForce } = decision;
  return { key, plan, cost, allowed, verdict, nowMs, utcOffsetMs, retryAfterMs, windows, inForce };
}
