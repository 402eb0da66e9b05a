export type { Audit, AuditLevel, AuditTarget } from './audit.js';
export { serviceAudits } from './audits.js';
export { createManualClock, type ManualClock } from './clock.js';
export { type OpenedOrderStore, type OpenOrderStore, orderStoreSuite } from './order-store-suite.js';
export { type OpenedRateLimiter, type OpenRateLimiter, rateLimiterSuite } from './rate-limiter-suite.js';
export { createTestService, type TestService, type TestServiceOptions } from './service.js';
export type { TestCase } from './test-case.js';
