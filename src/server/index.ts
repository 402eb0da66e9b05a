export type { BackendState, Backends } from './listener/health.js';
export { createOrderServer, type OrderServer, type OrderServerOptions } from './listener/server.js';
