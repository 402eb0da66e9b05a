import { hostParts } from '../../databases/sqlite/worker.js';
import { createProgramParts } from './program-parts.js';

// The worker of a server's storage.
hostParts(createProgramParts);
