/** Lets a limited number of callers work at the same time. The others wait in turn. */
export interface Turns {
  /**
   * Resolves to `true` when it is the caller's turn, which lasts until the caller calls `end`.
   * Resolves to `false` if no turn has come within `patienceMs`.
   */
  take(patienceMs: number): Promise<boolean>;
  end(): void;
}

export function createTurns(most: number): Turns {
  const waiting = new Set<() => void>();
  let taken = 0;
  return {
    async take(patienceMs) {
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

    end() {
      const [next] = waiting;
      if (next === undefined) taken--;
      else next();
    },
  };
}
