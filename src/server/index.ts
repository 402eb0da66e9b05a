export { createOrderServer, type OrderServer, type OrderServerOptions } from './server.js';
