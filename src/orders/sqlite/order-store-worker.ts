import { runParts } from '../../databases/sqlite/worker.js';
import { createOrderParts } from './file-store.js';

// The worker of openSqliteOrderStore.
runParts(createOrderParts);
