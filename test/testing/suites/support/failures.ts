import type { TestCase } from 'store-orders/testing';

/** The names of the cases that fail, run one after the other. */
export async function failures(cases: readonly TestCase[]): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of cases) await run().catch(() => failed.push(name));
  return failed;
}
