import assert from 'node:assert/strict';
import type { TestCase } from 'store-orders/testing';

/** Runs the cases one after the other. Returns the names of those that fail. */
export async function failures(cases: readonly TestCase[]): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of cases) await run().catch(() => failed.push(name));
  return failed;
}

/** Asserts that the cases whose names match fail. */
export async function assertFail(cases: readonly TestCase[], expected: RegExp): Promise<void> {
  const named = cases.filter(({ name }) => expected.test(name));
  assert.ok(named.length > 0, `no case is named ${expected}`);
  assert.deepEqual(
    await failures(named),
    named.map(({ name }) => name),
  );
}
