import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Held {
  readonly descriptors: number;
  readonly megabytes: number;
}

const PROCESS = fileURLToPath(new URL('./changed-lists-process.ts', import.meta.url));

/**
 * Runs a process that reads `lists` long lists, each after a change. Asserts that no descriptor
 * stays open. Resolves with the number of open descriptors and the memory, before and after.
 */
export async function changedLists(t: TestContext, lists: number): Promise<{ before: Held; after: Held }> {
  if (!existsSync('/proc/self/fd')) {
    t.skip('open descriptors are counted in /proc: run this on Linux');
    return { before: { descriptors: 0, megabytes: 0 }, after: { descriptors: 0, megabytes: 0 } };
  }
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', PROCESS, `${lists}`]);
  const held: { before: Held; after: Held } = JSON.parse(stdout);
  t.diagnostic(`${lists} lists: ${stdout.trim()}`);
  assert.ok(held.after.descriptors <= held.before.descriptors, stdout);
  return held;
}
