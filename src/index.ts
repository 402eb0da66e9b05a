export * from './http/index.js';
export * from './limits/index.js';
export * from './orders/index.js';
