import assert from 'node:assert/strict';
import { hostSuite } from './support/host-suite.js';
import { MOUNTS } from './support/mounts.js';

// Node.js warns about header fields that HTTP/2 forbids.
process.on('warning', ({ message }) => assert.doesNotMatch(message, /header/));

for (const mount of MOUNTS) hostSuite(mount);
