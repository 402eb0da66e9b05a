import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostSuite } from './support/host-suite.js';
import { MOUNTS } from './support/mounts.js';

const warnings: string[] = [];
process.on('warning', (warning) => warnings.push(warning.message));

for (const mount of MOUNTS) hostSuite(mount);

test('Node.js has not warned that a host has sent a header field that HTTP/2 forbids', () => {
  assert.deepEqual(
    warnings.filter((warning) => warning.includes('header')),
    [],
  );
});
