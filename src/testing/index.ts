export type { Audit, AuditLevel, AuditTarget } from './audits/audit.js';
export { serviceAudits } from './audits/index.js';
export { createManualClock, type ManualClock } from './clock.js';
export { createTestService, type TestService, type TestServiceOptions } from './service.js';
export { type OpenedOrderStore, type OpenOrderStore, orderStoreSuite } from './suites/order-store.js';
export { type OpenedRateLimiter, type OpenRateLimiter, rateLimiterSuite } from './suites/rate-limiter.js';
export type { TestCase } from './suites/test-case.js';
