export { createOrderServer, type OrderServer, type OrderServerOptions } from './listener/server.js';
