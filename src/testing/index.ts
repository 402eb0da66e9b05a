export type { Audit, AuditTarget } from './audits/audit.js';
export { serviceAudits } from './audits/index.js';
export { createDateClock, createManualClock, type ManualClock } from './clock.js';
export type { TestFault } from './faults.js';
export { createTestService, type TestService, type TestServiceOptions } from './service.js';
export { type OpenOrderStore, orderStoreSuite } from './suites/order-store.js';
export { type OpenRateLimiter, rateLimiterSuite } from './suites/rate-limiter.js';
export type { TestCase } from './suites/test-case.js';
