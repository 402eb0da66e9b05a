import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { startServer } from '../support/program.js';

const isMissing = spawnSync('bun', ['--version']).error !== undefined;

test('in Bun, the program serves, and exits with 0 at SIGTERM', {
  skip: isMissing && 'bun is not in the PATH: npm install --global bun',
}, async (t) => {
  const server = await startServer(t, { cwd: temporaryDirectory(), runtime: 'bun' });
  assert.equal((await server.get('none')).status, 401);
  assert.equal(await server.stop('SIGTERM'), 0, server.stderr());
  assert.deepEqual(
    server.log().map(({ event }) => event),
    ['listening', 'request', 'stopping', 'stopped'],
  );
});
