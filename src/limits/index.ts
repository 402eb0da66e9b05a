export { type Clock, createSystemClock } from './clock.js';
export type {
  BanState,
  Decision,
  KeyState,
  NamedBucket,
  RateLimiter,
  WindowState,
} from './limiter.js';
export { createMemoryLimiter, type MemoryLimiter, type MemoryLimiterOptions } from './memory/limiter.js';
export {
  type BanOptions,
  type BanPolicy,
  createPlan,
  PLANS,
  type Plan,
  type PlanOptions,
  perDay,
  perHour,
  perMinute,
  perSecond,
  type QuotaPolicy,
  type QuotaPolicyOptions,
} from './plan.js';
