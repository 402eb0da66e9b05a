import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { root } from '../../support/root.js';

const HOME = 'http/mounts/node-internals.ts';

/** What the documentation of Node.js does not promise. */
const UNDOCUMENTED =
  /\b_(?:httpMessage|closed|handle|server)\b|onIncoming|shouldKeepAlive|destroySoon|httpAllowHalfOpen|requireHostHeader|\.socket === null|'socket',/;

test('only one file uses what Node.js does not document, and each function names a test that exists', () => {
  const files = readdirSync(`${root}/src`, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const users = files.filter((file) => UNDOCUMENTED.test(readFileSync(`${root}/src/${file}`, 'utf8')));
  assert.deepEqual(users, [HOME]);
  const functions = readFileSync(`${root}/src/${HOME}`, 'utf8').split('export function ');
  // The text before a function ends with its doc comment.
  for (const comment of functions.slice(0, -1)) {
    const [, named] = /Test:[\s*]+`([\w.-]+)`(?:(?!\*\/).)*\*\/\n$/s.exec(comment) ?? [];
    assert.ok(named !== undefined && existsSync(`${root}/test/http/mounts/${named}`), comment.slice(-300));
  }
});
