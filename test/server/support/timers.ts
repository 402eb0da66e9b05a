import type { TestContext } from 'node:test';

/**
 * Holds back the timers of exactly this length. Returns a function that runs them, and returns how
 * many there were. All others run as usual: those of `fetch` fail if they are not cleared in time.
 */
export function holdTimers(t: TestContext, heldMs: number): () => number {
  const held: (() => void)[] = [];
  const { setTimeout } = globalThis;
  t.mock.method(globalThis, 'setTimeout', (run: (...values: unknown[]) => void, ms: number, ...values: unknown[]) => {
    if (ms !== heldMs) return setTimeout(run, ms, ...values);
    held.push(() => run(...values));
    return setTimeout(() => {}, 0);
  });
  return () => {
    const due = held.splice(0);
    for (const run of due) run();
    return due.length;
  };
}
