import { createWriteQueue } from '../../databases/sqlite/group-commit.js';
import { hostParts } from '../../databases/sqlite/worker.js';
import { createOrderParts } from './hosted.js';

// The worker of openSqliteOrderStore.
hostParts((database, openAnother) => createOrderParts(database, createWriteQueue(database), openAnother));
