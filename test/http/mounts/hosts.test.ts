import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostSuite } from './support/host-suite.js';
import { MOUNTS } from './support/mounts.js';

const warnings: string[] = [];
process.on('warning', (warning) => warnings.push(warning.message));

for (const mount of MOUNTS) hostSuite(mount);

test('during the tests of all mounts, Node.js has not warned about header fields that HTTP/2 forbids', () => {
  assert.deepEqual(
    warnings.filter((warning) => warning.includes('header')),
    [],
  );
});
