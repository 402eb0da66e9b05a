import { runParts } from '../../databases/sqlite/worker.js';
import { createProgramParts } from './program-parts.js';

runParts(createProgramParts);
