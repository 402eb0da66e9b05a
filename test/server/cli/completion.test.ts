import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { run } from '../support/program.js';

const hasBash = spawnSync('bash', ['--version']).status === 0;

test('bash completes the names of command groups, commands and options', {
  skip: hasBash ? false : 'bash is not in the PATH',
}, async () => {
  const cwd = temporaryDirectory();
  const { code, stdout: script } = await run(['completion'], { cwd });
  assert.equal(code, 0);
  const complete = (...words: readonly string[]) => {
    const typed = ['store-orders', ...words].map((word) => `'${word}'`).join(' ');
    const ask = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _store_orders; echo "\${COMPREPLY[*]}"`;
    return execFileSync('bash', ['--norc', '-c', `${script}\n${ask}`], { encoding: 'utf8' })
      .trim()
      .split(' ');
  };
  assert.deepEqual(complete('or'), ['orders']);
  assert.deepEqual(complete('orders', 'ex'), ['export']);
  assert.deepEqual(complete('keys', ''), ['create', 'list', 'set-plan', 'rotate', 'revoke']);
  assert.deepEqual(complete('keys', 'create', '--pl'), ['--plan']);
  assert.deepEqual(complete('ban', 'set', 'key_a', '--f'), ['--for']);
  assert.deepEqual(complete('--po'), ['--port']);
  assert.deepEqual(complete('serve', '--db', 'x.db', '--tr'), ['--trust-proxy']);
});
