export { BACKEND_STATES, type BackendState, type Backends, stateOf } from './health.js';
export { createOrderServer, type OrderServer, type OrderServerOptions } from './server.js';
