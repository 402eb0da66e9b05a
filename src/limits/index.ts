export { type Clock, createSystemClock } from './clock.js';
export type { Decision, KeyState, RateLimiter } from './limiter.js';
export { createMemoryLimiter, type MemoryLimiter, type MemoryLimiterOptions } from './memory/limiter.js';
export { createPlan, PLANS, type Plan, type PlanOptions, perDay, perMinute } from './plan.js';
