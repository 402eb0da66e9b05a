import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { root } from '../../support/root.js';

const HOME = 'http/mounts/node-internals.ts';

/** What the documentation of Node.js does not promise. */
const UNDOCUMENTED =
  /\b_(?:httpMessage|closed|handle|server)\b|onIncoming|shouldKeepAlive|destroySoon|httpAllowHalfOpen|requireHostHeader|\.socket === null|'socket',/;

function typeScriptIn(folder: string): readonly string[] {
  return readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
}

test('only one file uses what Node.js does not document, and each function names a test that exists', () => {
  const users = typeScriptIn('src').filter((file) => UNDOCUMENTED.test(readFileSync(`${root}/src/${file}`, 'utf8')));
  assert.deepEqual(users, [HOME]);
  const functions = readFileSync(`${root}/src/${HOME}`, 'utf8').split('export function ');
  const tests = typeScriptIn('test');
  // The text before a function ends with its doc comment.
  for (const comment of functions.slice(0, -1)) {
    const [, named] = /Test:[\s*]+`([\w.-]+)`(?:(?!\*\/).)*\*\/\n$/s.exec(comment) ?? [];
    assert.ok(named !== undefined && tests.some((file) => basename(file) === named), comment.slice(-300));
  }
});
