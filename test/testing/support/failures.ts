import assert from 'node:assert/strict';
import type { TestCase } from 'store-orders/testing';

/** Runs the cases one after the other. Returns the names of those that fail. */
export async function failures(cases: readonly TestCase[]): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of cases) await run().catch(() => failed.push(name));
  return failed;
}

/** Asserts that a case whose name matches fails. */
export async function assertFails(cases: readonly TestCase[], expected: RegExp): Promise<void> {
  const failed = await failures(cases);
  assert.ok(
    failed.some((name) => expected.test(name)),
    `failed: ${failed.join('; ')}`,
  );
}
