import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostSuite } from './support/host-suite.js';
import { MOUNTS } from './support/mounts.js';

const warnings: string[] = [];
process.on('warning', (warning) => warnings.push(warning.message));

for (const mount of MOUNTS) hostSuite(mount);

test('no host has sent a header field that HTTP/2 forbids: Node.js would have printed a warning', () => {
  assert.deepEqual(
    warnings.filter((warning) => warning.includes('header')),
    [],
  );
});
