import { hostParts } from '../../databases/sqlite/worker.js';
import { createProgramParts } from './program-parts.js';

hostParts(createProgramParts);
