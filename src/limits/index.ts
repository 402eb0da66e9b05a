export { type Clock, createSystemClock } from './clock.js';
export {
  type BanState,
  type Decision,
  type KeyState,
  type NamedBucket,
  plainDecision,
  type RateLimiter,
  type WindowState,
} from './limiter.js';
export { createMemoryLimiter, type MemoryLimiter, type MemoryLimiterOptions } from './memory/limiter.js';
export {
  type BanPolicy,
  createPlan,
  PLANS,
  type Plan,
  type PlanOptions,
  perDay,
  perMinute,
  type QuotaPolicy,
  type QuotaPolicyOptions,
} from './plan.js';
