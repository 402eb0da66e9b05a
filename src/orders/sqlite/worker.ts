import { hostParts } from '../../databases/sqlite/worker.js';
import { createOrderParts } from './hosted.js';

// The worker of openSqliteOrderStore.
hostParts(createOrderParts);
