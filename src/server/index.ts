export { createApiKey, isApiKey } from './keys/api-key.js';
export type { FixedPlanName, KeyPlan } from './keys/key-plan.js';
export type { IssuedKey, KeyChange, KeyRecord, KeyRing, KeyRotation } from './keys/key-ring.js';
export { createPostgresKeyRing } from './keys/postgres.js';
export { createOrderServer, type OrderServer, type OrderServerOptions } from './listener/server.js';
export { type SavedLimiter, type SavedLimiterOptions, withSavedQuotas } from './quotas/saved-limiter.js';
export { openPostgresStorage, type PostgresStorageOptions } from './storage/postgres.js';
export { openSqliteStorage, type SqliteStorage } from './storage/sqlite.js';
export type { OpenOutcome, Storage } from './storage/storage.js';
