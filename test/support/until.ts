/** Waits until a condition holds. Fails after `withinMs`. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const startMs = performance.now();
  while (!(await holds())) {
    if (performance.now() - startMs > withinMs) throw new Error(`not true within ${withinMs} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
