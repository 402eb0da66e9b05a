export type { Clock } from './clock.js';
export type { Decision, RateLimiter } from './limiter.js';
export { createMemoryLimiter, type MemoryLimiter, type MemoryLimiterOptions } from './memory/limiter.js';
export { createPlan, PLANS, type Plan, type PlanOptions, perDay, perMinute } from './plan.js';
