export { createApiKey, isApiKey } from './api-key.js';
export { type OpenOutcome, openDatabase, type ProgramDatabase } from './database.js';
export type { FixedPlanName, KeyPlan } from './key-plan.js';
export { createKeyRing, type IssuedKey, type KeyRecord, type KeyRing } from './key-ring.js';
export { type SavedLimiter, type SavedLimiterOptions, withSavedQuotas } from './quotas.js';
export { createOrderServer, type OrderServer, type OrderServerOptions } from './server.js';
