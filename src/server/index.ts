export { BACKEND_STATES, type BackendReading, type BackendState, type Backends, readBackend } from './health.js';
export { createOrderServer, type OrderServer, type OrderServerOptions } from './server.js';
