import { createWriteQueue } from '../../databases/sqlite/group-commit.js';
import { hostParts } from '../../databases/sqlite/worker.js';
import { createProgramParts } from './program-parts.js';

// The worker of a server's storage.
hostParts((database, openAnother) => createProgramParts(database, createWriteQueue(database), openAnother));
