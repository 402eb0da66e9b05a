/** Lets a limited number of callers work at the same time. The others wait in turn. */
export function createTurns(most: number) {
  const waiting = new Set<() => void>();
  let taken = 0;
  return {
    /**
     * Resolves to `true` when it is the caller's turn, which lasts until the caller calls `end`.
     * Resolves to `false` if no turn has come within `patienceMs`.
     */
    async take(patienceMs: number): Promise<boolean> {
      if (taken < most) {
        taken++;
        return true;
      }
      return new Promise((resolve) => {
        const timer = setTimeout(settle, patienceMs, false);
        function settle(isTurn = true): void {
          clearTimeout(timer);
          waiting.delete(settle);
          resolve(isTurn);
        }
        waiting.add(settle);
      });
    },

    end(): void {
      const [next] = waiting;
      if (next === undefined) taken--;
      else next();
    },
  };
}
