export { createApiKey, isApiKey } from './data/api-key.js';
export type { FixedPlanName, KeyPlan } from './data/key-plan.js';
export type { IssuedKey, KeyChange, KeyRecord, KeyRing } from './data/key-ring.js';
export type { OpenOutcome, ProgramData } from './data/program-data.js';
export { openDatabase, type SqliteData } from './data/sqlite-data.js';
export type { SqliteKeyRing } from './data/sqlite-keys.js';
export { type SavedLimiter, type SavedLimiterOptions, withSavedQuotas } from './quotas.js';
export { createOrderServer, type OrderServer, type OrderServerOptions } from './server.js';
